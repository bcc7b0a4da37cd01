package web

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
)

// ServeHTTP implements [http.Handler]: it lets in what may come in.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	isAPI := strings.HasPrefix(r.URL.Path, "/api/") || r.URL.Path == "/api"
	protect(w.Header(), isAPI)
	if err := s.admit(r, isAPI); err != nil {
		s.refuse(w, err)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Policies of what a browser may do with an answer. The page has no inline
// script or style, and needs nothing from elsewhere.
const (
	pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; " +
		"connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
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

// admit refuses what does not come from a client of ours.
func (s *Server) admit(r *http.Request, isAPI bool) error {
	switch {
	case !s.knows(r.Host):
		return newProblem(http.StatusMisdirectedRequest, "host", "this server is not known by the name of the request's Host header; --allow-host makes it known by others")
	case !s.rate.take(address(r), 1):
		return errTooMany()
	case !clean(r.URL):
		return newProblem(http.StatusNotFound, "path", "there is nothing at this path")
	case !sameOrigin(r, isAPI):
		return newProblem(http.StatusForbidden, "origin", "the request comes from another site's page; nothing was done")
	case !slices.Contains(methods(isAPI), r.Method):
		return newProblem(http.StatusMethodNotAllowed, "method", "there are only the methods "+strings.Join(methods(isAPI), ", "))
	case isAPI && s.client(r) == "":
		return s.unknown(r)
	}
	return nil
}

func methods(isAPI bool) []string {
	if isAPI {
		return []string{http.MethodGet, http.MethodPost, http.MethodDelete}
	}
	return []string{http.MethodGet, http.MethodHead}
}

// knows reports whether a Host header is one of ours. A page whose name was
// made to point to this machine (DNS rebinding) sends its own name; an IP
// address cannot be made to point elsewhere.
func (s *Server) knows(hostPort string) bool {
	host := hostPort
	if h, _, err := net.SplitHostPort(hostPort); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	if ip, err := netip.ParseAddr(host); err == nil {
		return s.Exposed || ip.IsLoopback()
	}
	host = strings.TrimSuffix(host, ".")
	return host == "localhost" || slices.ContainsFunc(s.Names, func(name string) bool { return strings.EqualFold(name, host) })
}

// clean reports whether a path is written the one way that paths are. Others
// are not redirected: nobody who means well sends them.
func clean(u *url.URL) bool {
	p := u.Path
	if !strings.HasPrefix(p, "/") || strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }) {
		return false
	}
	cleaned := path.Clean(p)
	return cleaned == p || cleaned != "/" && cleaned+"/" == p
}

// sameOrigin refuses what another site's page sends: browsers say so in
// Sec-Fetch-Site and Origin. "same-site" is another site's too, since all
// ports of localhost are one site. The page itself may be linked to.
func sameOrigin(r *http.Request, isAPI bool) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		if isAPI || r.Method != http.MethodGet || r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			return false
		}
	}
	if len(r.Header.Values("Origin")) == 0 {
		return true
	}
	origin, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && (origin.Scheme == "http" || origin.Scheme == "https") && strings.EqualFold(origin.Host, r.Host)
}
