package modeltest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// check returns the error with which the provider would refuse the request; nil if it would accept
// it. name is the model, which only Gemini has in the path.
func (s *Server) check(d Dialect, name string, h http.Header, body []byte) *apiError {
	if e := s.checkKey(d, h); e != nil {
		return e
	}
	if !json.Valid(body) {
		if d == Messages {
			return invalid("The request body is not valid JSON")
		}
		return invalid(
			"We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)",
		)
	}
	if s.rules.Off {
		return nil
	}
	if e := checkSchema(d, body); e != nil {
		return e
	}
	if d != Messages && d != Gemini && s.rules.flag(body) {
		return invalid(
			"Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting",
		).
			at("", "invalid_prompt")
	}
	switch d {
	case Messages:
		return s.checkMessages(h, body)
	case Chat:
		return s.checkChat(body)
	case Gemini:
		return s.checkGemini(name, body)
	}
	return s.checkResponses(body)
}

// checkKey refuses requests without a key that the rules know.
func (s *Server) checkKey(d Dialect, h http.Header) *apiError {
	if len(s.rules.Keys) == 0 {
		return nil
	}
	bearer := strings.TrimSpace(strings.TrimPrefix(h.Get("Authorization"), "Bearer"))
	key := h.Get("X-Api-Key")
	if d == Gemini {
		key = h.Get("X-Goog-Api-Key")
	} else if d != Messages || key == "" {
		key = bearer
	}
	if slices.Contains(s.rules.Keys, key) {
		return nil
	}
	e := usual(d, http.StatusUnauthorized)
	switch {
	case d == Gemini:
		e = *geminiInvalid("API key not valid. Please pass a valid API key.")
	case d == Messages && key == "":
		e.Message = "x-api-key header is required"
	case key == "":
		e.Code = ""
		e.Message = "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
	case d != Messages:
		e.Message = "Incorrect API key provided: " + mask(
			key,
		) + ". You can find your API key at https://platform.openai.com/account/api-keys."
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

// checkModel finds the model, or refuses as the dialect's provider does.
func (s *Server) checkModel(d Dialect, name string) (Model, *apiError) {
	if name == "" {
		if d == Messages {
			return Model{}, invalid("model: Field required")
		}
		return Model{}, invalid("you must provide a model parameter")
	}
	m, known := s.rules.model(name)
	if known {
		return m, nil
	}
	e := &apiError{Status: http.StatusNotFound, Type: "not_found_error", Message: "model: " + name}
	if d != Messages {
		e.Type, e.Code = "invalid_request_error", "model_not_found"
		e.Message = fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", name)
	}
	return Model{}, e
}

// tokens returns the assumed number of tokens of a request.
func (m Model) tokens(body []byte) int { return len(body) / cmp.Or(max(m.TokenBytes, 0), 4) }

// list is the elements of a JSON array; ok is false for anything else.
func list(raw json.RawMessage) (elements []json.RawMessage, ok bool) {
	ok = json.Unmarshal(raw, &elements) == nil && elements != nil
	return elements, ok
}

// text is a JSON string; ok is false for anything else.
func text(raw json.RawMessage) (s string, ok bool) {
	ok = bytes.HasPrefix(raw, []byte(`"`)) && json.Unmarshal(raw, &s) == nil
	return s, ok
}

// isObject reports whether the JSON is an object.
func isObject(raw []byte) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal(raw, &o) == nil && o != nil
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// isName reports whether the text has one to limit characters, all of them letters, digits or
// among more.
func isName(text, more string, limit int) bool {
	for _, c := range []byte(text) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte(more, c) >= 0:
		default:
			return false
		}
	}
	return text != "" && len(text) <= limit
}
