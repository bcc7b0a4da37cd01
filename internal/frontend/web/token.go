package web

import (
	"net/http"

	"github.com/settle-agent/settle/internal/client/guard"
)

// The kinds of clients, as events name them.
const (
	byPage = "web"
	byAPI  = "api"
)

// clientHeader is the header by which the page identifies itself. It grants nothing.
const clientHeader = "Settle-Client"

// client returns the kind of the client.
func client(r *http.Request) string {
	if r.Header.Get(clientHeader) == byPage {
		return byPage
	}
	return byAPI
}

// enter refuses a client without the token, and a client with too many requests. The
// page itself needs no token: it has no data, and asks for the token.
func (s *Server) enter(r *http.Request, isAPI bool) error {
	admit := s.admission.Public
	if isAPI {
		admit = s.admission.Admit
	}
	switch admit(r) {
	case guard.Enter:
		return nil
	case guard.TooMany:
		return newProblem(http.StatusTooManyRequests, "rate", guard.TooManyRequests)
	}
	return newProblem(
		http.StatusUnauthorized,
		"token",
		"the token is missing or wrong; use the link that \"settle serve\" printed, or the header \"Authorization: Bearer TOKEN\"",
	)
}
