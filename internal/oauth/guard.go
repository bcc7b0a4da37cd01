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

// Guard keeps requests to addresses from a server's metadata out of private networks,
// unless the server is in a private network itself. Its methods are for an
// [http.Transport].
type Guard struct {
	// Server is the server's URL.
	Server string
	// Next chooses the proxy of a request; nil for no proxy.
	Next func(*http.Request) (*url.URL, error)

	mu      sync.Mutex
	proxies map[string]bool // addresses of chosen proxies; the user configured them, so they can be private
}

// Proxy chooses the proxy of a request.
func (g *Guard) Proxy(r *http.Request) (*url.URL, error) {
	if g.Next == nil {
		return nil, nil // as the signature has it: no proxy
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

// DialContext connects to a permitted address.
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

// isPrivate reports whether the server itself is in a private network.
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
