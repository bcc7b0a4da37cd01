package settletest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// check says how the provider would refuse the request; nil if it would not.
func (s *Server) check(d Dialect, h http.Header, body []byte) *apiError {
	if e := s.checkKey(d, h); e != nil {
		return e
	}
	if !json.Valid(body) {
		return invalid("We could not parse the JSON body of your request.")
	}
	return nil
}

// checkKey refuses requests without a key that the rules know.
func (s *Server) checkKey(d Dialect, h http.Header) *apiError {
	if len(s.rules.Keys) == 0 {
		return nil
	}
	bearer, _ := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	key := h.Get("X-Api-Key")
	if d != Messages || key == "" {
		key = bearer
	}
	if slices.Contains(s.rules.Keys, key) {
		return nil
	}
	e := usual(d, http.StatusUnauthorized)
	switch {
	case d == Messages && key == "":
		e.Message = "x-api-key header is required"
	case key == "":
		e.Code = ""
		e.Message = "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
	case d != Messages:
		e.Message = "Incorrect API key provided: " + mask(key) + ". You can find your API key at https://platform.openai.com/account/api-keys."
	}
	return &e
}

// mask shows as much of a key as the provider does.
func mask(key string) string {
	if len(key) <= 8 {
		return strings.Repeat("*", len(key))
	}
	return key[:4] + strings.Repeat("*", len(key)-8) + key[len(key)-4:]
}
