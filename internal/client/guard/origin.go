package guard

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Names are the host names by which clients may call a server.
type Names struct {
	// Names are the allowed host names besides the names of the loopback interface.
	Names []string
	// Exposed reports that clients can also use any IP address.
	Exposed bool
}

// Know reports whether a Host header is one of ours. A page whose name was
// made to point to this machine (DNS rebinding) sends its own name; an IP
// address cannot be made to point elsewhere.
func (n Names) Know(hostPort string) bool {
	host := hostPort
	if h, _, err := net.SplitHostPort(hostPort); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	if ip, err := netip.ParseAddr(host); err == nil {
		return n.Exposed || ip.IsLoopback()
	}
	host = strings.TrimSuffix(host, ".")
	return host == "localhost" || slices.ContainsFunc(
		n.Names, func(name string) bool { return strings.EqualFold(name, host) },
	)
}

// Clean reports whether a path has its canonical form. Other forms are refused, not
// redirected: regular clients do not send them.
func Clean(u *url.URL) bool {
	p := u.Path
	if !strings.HasPrefix(p, "/") || strings.ContainsFunc(
		p, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' },
	) {
		return false
	}
	cleaned := path.Clean(p)
	return cleaned == p || cleaned != "/" && cleaned+"/" == p
}

// Target is the kind of resource that a request is for.
type Target string

// The targets.
const (
	Page Target = "page"
	API  Target = "api"
)

// SameOrigin refuses requests from pages of other sites, according to Sec-Fetch-Site and
// Origin. It treats "same-site" as another site, because all ports of localhost are one
// site. Other sites may link to a [Page].
func SameOrigin(r *http.Request, to Target) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		if to != Page || r.Method != http.MethodGet || r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			return false
		}
	}
	if len(r.Header.Values("Origin")) == 0 {
		return true
	}
	origin, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && (origin.Scheme == "http" || origin.Scheme == "https") && strings.EqualFold(origin.Host, r.Host)
}
