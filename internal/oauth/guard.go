package oauth

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"

	"github.com/settle-agent/settle/internal/egress"
)

// Guard keeps what a server's metadata leads to out of private networks, unless the
// server is in one itself. Its methods are for an [http.Transport].
type Guard struct {
	// Server is the server's URL.
	Server string
	// Next chooses a request's proxy; nil is none.
	Next func(*http.Request) (*url.URL, error)

	mu      sync.Mutex
	proxies map[string]bool // that were chosen: the user's, so they may be anywhere
}

// Proxy chooses a request's proxy.
func (g *Guard) Proxy(r *http.Request) (*url.URL, error) {
	if g.Next == nil {
		return nil, nil //nolint:nilnil // as the signature has it: no proxy
	}
	proxy, err := g.Next(r)
	if proxy != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.proxies == nil {
			g.proxies = map[string]bool{}
		}
		g.proxies[proxy.Hostname()] = true
	}
	return proxy, err
}

// DialContext connects, if it may.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %q: %w", address, err)
	}
	g.mu.Lock()
	free := g.proxies[host]
	g.mu.Unlock()
	if free || g.isPrivate(ctx) {
		var d net.Dialer
		return d.DialContext(ctx, network, address)
	}
	return (&egress.Dialer{}).DialContext(ctx, network, address)
}

// isPrivate reports whether the server is in a private network itself.
func (g *Guard) isPrivate(ctx context.Context) bool {
	u, err := url.Parse(g.Server)
	if err != nil {
		return false
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil {
		return !egress.Public(a)
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil || len(found) == 0 {
		return false
	}
	for _, a := range found {
		if egress.Public(a) {
			return false
		}
	}
	return true
}
