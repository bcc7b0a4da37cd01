package guard

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"
)

// MaxConnections is the default limit of simultaneous connections.
const MaxConnections = 8192

// Address is the address to listen on.
type Address struct {
	// Addr is HOST:PORT; port 0 picks one.
	Addr string
	// TLS, if set, encrypts connections.
	TLS *tls.Config
	// Insecure allows an address that others can reach without TLS.
	Insecure bool
	// Connections is the most at a time; 0 means [MaxConnections].
	Connections int
}

// Place is a listener of a server and the reach of its address.
type Place struct {
	net.Listener
	// Exposed reports that other machines can reach the address.
	Exposed bool

	scheme, host string
}

// Listen listens. An address outside the loopback interface needs TLS or an explicit
// permission, because a program that reads the token there can run commands here.
func Listen(ctx context.Context, a Address) (*Place, error) {
	tcp, err := net.ResolveTCPAddr("tcp", a.Addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %q: %w; write HOST:PORT, such as 127.0.0.1:0", a.Addr, err)
	}
	p := &Place{Exposed: !tcp.IP.IsLoopback(), scheme: "http"}
	if p.Exposed && a.TLS == nil && !a.Insecure {
		return nil, fmt.Errorf(
			"refusing to listen on %q, which others can reach, without TLS: they could read the token, and run commands here; "+
				"use --tls-cert and --tls-key, or an SSH tunnel to 127.0.0.1, or say --insecure if you mean it",
			a.Addr,
		)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", tcp.String())
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %q: %w", a.Addr, err)
	}
	p.Listener = &bounded{Listener: l, limit: cmp.Or(a.Connections, MaxConnections)}
	p.host, _, _ = net.SplitHostPort(a.Addr) // it was resolved
	if ip := net.ParseIP(p.host); p.host == "" || ip != nil && ip.IsUnspecified() {
		p.host = "127.0.0.1"
	}
	if a.TLS != nil {
		config := a.TLS.Clone()
		config.NextProtos = []string{"h2", "http/1.1"} // a browser has few connections to a host, but many streams
		p.Listener, p.scheme = tls.NewListener(p.Listener, config), "https"
	}
	return p, nil
}

// Link returns the address of the page, with the given host name and token unless they are
// empty. The token is in the fragment, which browsers do not send.
func (p *Place) Link(name, token string) string {
	u := p.URL(name, "/")
	if token != "" {
		u.Fragment = "token=" + token
	}
	return u.String()
}

// URL returns the address of a path, called by a name if one is given.
func (p *Place) URL(name, path string) *url.URL {
	host := p.host
	if name != "" {
		host = name
	}
	port := 0
	if tcp, ok := p.Addr().(*net.TCPAddr); ok {
		port = tcp.Port
	}
	return &url.URL{Scheme: p.scheme, Host: net.JoinHostPort(host, strconv.Itoa(port)), Path: path}
}

// bounded refuses connections above a limit, so that existing connections are served.
type bounded struct {
	net.Listener

	limit int
	mu    sync.Mutex // guards now
	now   int
}

// Accept implements [net.Listener].
func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if b.enter() {
			return &counted{Conn: c, leave: sync.OnceFunc(b.leave)}, nil
		}
		_ = c.Close() // it has had nothing from us
	}
}

func (b *bounded) enter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now >= b.limit {
		return false
	}
	b.now++
	return true
}

func (b *bounded) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now--
}

// counted is a connection that is counted until it is closed.
type counted struct {
	net.Conn

	leave func()
}

// Close implements [net.Conn].
func (c *counted) Close() error {
	c.leave()
	return c.Conn.Close()
}
