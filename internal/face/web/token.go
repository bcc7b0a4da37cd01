package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
)

const (
	tokenBytes = 32
	// shortestToken is what a token of the user's must have.
	shortestToken = 16
	longestToken  = 4 << 10
)

// NewToken returns a token that nobody can guess.
func NewToken() string {
	b := make([]byte, tokenBytes)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// ReadToken returns the token in a file.
func ReadToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("cannot read the token: %w; \"openssl rand -hex 32\" makes one", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	b := make([]byte, longestToken+1)
	n, err := f.Read(b)
	if n == 0 && err != nil {
		return "", fmt.Errorf("cannot read the token: %q: %w", path, err)
	}
	token := strings.TrimSpace(string(b[:n]))
	switch {
	case n > longestToken:
		return "", fmt.Errorf("cannot use %q as a token: it has more than %d bytes", path, longestToken)
	case len(token) < shortestToken:
		return "", fmt.Errorf("cannot use %q as a token: it has fewer than %d characters; \"openssl rand -hex 32\" makes a better one", path, shortestToken)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", fmt.Errorf("cannot use %q as a token: it has characters that are not printable ASCII, or spaces", path)
	}
	return token, nil
}

// digest is what a secret is compared by: in the same time whatever the other
// one is, also if it has another length.
type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

func (d digest) matches(secret string) bool {
	other := digestOf(secret)
	return subtle.ConstantTimeCompare(d[:], other[:]) == 1
}

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
		if s.token.matches(strings.TrimSpace(token)) {
			return byAPI
		}
		return ""
	}
	if c, err := r.Cookie(cookieName(r)); err == nil && s.cookie.matches(c.Value) {
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
	if !s.token.matches(token) {
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
	if !s.rate.take(address(r), wrongTokenCost) {
		return errTooMany()
	}
	return newProblem(http.StatusUnauthorized, "token", "the token is missing or wrong; use the link that \"settle serve\" printed, or the header \"Authorization: Bearer TOKEN\"")
}
