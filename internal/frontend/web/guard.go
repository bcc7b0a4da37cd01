package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/client/guard"
)

// ServeHTTP implements [http.Handler]: it serves admitted requests.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	isAPI := strings.HasPrefix(r.URL.Path, "/api/") || r.URL.Path == "/api" || r.URL.Path == metricsPath
	protect(w.Header(), isAPI)
	if err := s.admit(r, isAPI); err != nil {
		s.refuse(w, err)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Content security policies. The page has no inline script or style, and loads nothing
// from other sites.
const (
	pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
		"font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; " +
		"form-action 'none'; frame-ancestors 'none'"
	apiPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
)

// protect sets the headers that keep browsers from doing harm.
func protect(h http.Header, isAPI bool) {
	h.Set("Content-Security-Policy", pagePolicy)
	if isAPI {
		h.Set("Content-Security-Policy", apiPolicy)
		h.Set("Cache-Control", "no-store")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
}

// admit refuses requests with a wrong host, path, origin, method or token.
func (s *Server) admit(r *http.Request, isAPI bool) error {
	switch {
	case !guard.Names{Names: s.Names, Exposed: s.Exposed}.Know(r.Host):
		return newProblem(http.StatusMisdirectedRequest, "host", guard.WrongHost)
	case !guard.Clean(r.URL):
		return newProblem(http.StatusNotFound, "path", "there is nothing at this path")
	case !guard.SameOrigin(r, target(isAPI)):
		return newProblem(http.StatusForbidden, "origin", guard.OtherSite)
	case !slices.Contains(methods(isAPI), r.Method):
		return newProblem(
			http.StatusMethodNotAllowed, "method", "use one of the methods "+strings.Join(methods(isAPI), ", "),
		)
	}
	return s.enter(r, isAPI)
}

func methods(isAPI bool) []string {
	if isAPI {
		return []string{http.MethodGet, http.MethodPost, http.MethodDelete}
	}
	return []string{http.MethodGet, http.MethodHead}
}

func target(isAPI bool) guard.Target {
	if isAPI {
		return guard.API
	}
	return guard.Page
}
