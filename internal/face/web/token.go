package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"strings"

	"github.com/settle-agent/settle/internal/face/guard"
)

// cookieValue is what a browser gets for the token: it opens the same doors,
// but is not the token.
func cookieValue(token string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("settle cookie 1"))
	return hex.EncodeToString(mac.Sum(nil))
}

// cookieName has the port, since browsers share cookies among the ports of a
// host.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		return "settle"
	}
	return "settle_" + port
}

// Who says, in events, what kind of client asked.
const (
	byPage = "web"
	byAPI  = "api"
)

// client returns who asks, or "" if it does not know the token.
func (s *Server) client(r *http.Request) string {
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		if s.token.Matches(strings.TrimSpace(token)) {
			return byAPI
		}
		return ""
	}
	if c, err := r.Cookie(cookieName(r)); err == nil && s.cookie.Matches(c.Value) {
		return byPage
	}
	return ""
}

// enter serves the page, and lets a browser in that brings the token in the
// link.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) error {
	token := r.URL.Query().Get("token")
	if token == "" {
		s.Page.ServeHTTP(w, r)
		return nil
	}
	if !s.token.Matches(token) {
		return s.unknown(r)
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r), Value: cookieValue(s.Token), Path: "/",
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.TLS != nil,
	})
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, "/", http.StatusSeeOther) // without the token, which is not to stay in a history
	return nil
}

// unknown refuses a client that does not know the token, and makes it slow.
func (s *Server) unknown(r *http.Request) error {
	if !s.rate.Take(guard.Caller(r), guard.WrongTokenCost) {
		return errTooMany()
	}
	return newProblem(http.StatusUnauthorized, "token", "the token is missing or wrong; use the link that \"settle serve\" printed, or the header \"Authorization: Bearer TOKEN\"")
}
