package egress

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Bounds of a gate.
const (
	mostConns     = 128              // at a time; others wait to be accepted
	maxHeader     = 16 << 10         // bytes of a request's head
	helloTimeout  = 30 * time.Second // until a request is complete
	dialTimeout   = 30 * time.Second
	idleTimeout   = 10 * time.Minute // without a byte in either direction
	mostRefusals  = 16               // that are kept account of
	gateUser      = "settle"
	helloPreamble = 1 // bytes that tell the protocols apart
)

// Gate is the way out of one command. It must be closed.
type Gate struct {
	hosts  List
	dialer Dialer
	secret string
	server *http.Server
	calls  *queue // connections that speak HTTP

	ctx   context.Context
	close context.CancelFunc
	slots chan struct{}
	wait  sync.WaitGroup

	mu        sync.Mutex // guards what follows
	listeners []net.Listener
	conns     map[net.Conn]bool // of the command
	refusals  []Refusal
	closed    bool
}

// Refusal is what a gate refused.
type Refusal struct {
	Target Target
	// Private is the address that the target leads to, if that was why; else it is
	// not listed.
	Private string
}

func (r Refusal) String() string {
	if r.Private != "" {
		return fmt.Sprintf("connecting to %s (%s is not a public address)", r.Target, r.Private)
	}
	return fmt.Sprintf("connecting to %s (not an allowed host)", r.Target)
}

// Hosts are the entries of a [List] that would allow it; none if nothing does.
func (r Refusal) Hosts() []string {
	at := r.Target.Host
	if strings.Contains(at, ":") {
		at = "[" + at + "]"
	}
	if r.Private != "" {
		if a, err := netip.ParseAddr(r.Private); err != nil || local(a) {
			return nil
		}
		at = r.Private
		if strings.Contains(at, ":") {
			at = "[" + at + "]"
		}
	} else if a, err := netip.ParseAddr(r.Target.Host); err == nil && local(a) {
		return nil
	}
	if usual(r.Target.Port) {
		return []string{strings.Trim(at, "[]")}
	}
	return []string{at + ":" + strconv.Itoa(int(r.Target.Port))}
}

// NewGate returns a gate to the hosts of a list. The dialer's Permit is the
// list's.
func NewGate(hosts List, dialer Dialer) *Gate {
	g := &Gate{hosts: hosts, dialer: dialer, secret: rand.Text(), slots: make(chan struct{}, mostConns), conns: make(map[net.Conn]bool)}
	g.ctx, g.close = context.WithCancel(context.Background())
	g.dialer.Permit = hosts.Permits
	g.calls = &queue{conns: make(chan net.Conn), done: g.ctx.Done()}
	g.server = g.newServer()
	g.goes(func() { _ = g.server.Serve(g.calls) })
	return g
}

// goes runs f; Close ends it, and waits for it.
func (g *Gate) goes(f func()) {
	g.wait.Add(1)
	go func() {
		defer g.wait.Done()
		f()
	}()
}

// URL is what a program is to have as its proxy, where the gate is at a port of
// its own machine.
func (g *Gate) URL(port uint16) string {
	return "http://" + gateUser + ":" + g.secret + "@" + net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port)))
}

// Env is the environment that leads programs to the gate at a port.
func (g *Gate) Env(port uint16) (env []string) {
	url := g.URL(port)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		env = append(env, name+"="+url)
	}
	// There is nothing that could be reached without it.
	return append(env, "NO_PROXY=", "no_proxy=", "NODE_USE_ENV_PROXY=1")
}

// Listen opens the gate at a port of this machine's loopback.
func (g *Gate) Listen() (port uint16, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not block
	if err != nil {
		return 0, fmt.Errorf("cannot open the sandbox's proxy: %w", err)
	}
	g.Serve(l)
	return uint16(l.Addr().(*net.TCPAddr).Port), nil
}

// Serve lets in what comes to a listener, which the gate closes.
func (g *Gate) Serve(l net.Listener) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		_ = l.Close()
		return
	}
	g.listeners = append(g.listeners, l)
	g.goes(func() { g.accept(l) })
}

// ServeFile does the same for a listener that is a descriptor, and closes it.
func (g *Gate) ServeFile(file *os.File) {
	defer file.Close()
	if l, err := net.FileListener(file); err == nil { // else nobody answers there, and the command sees it
		g.Serve(l)
	}
}

func (g *Gate) accept(l net.Listener) {
	for {
		select {
		case g.slots <- struct{}{}:
		case <-g.ctx.Done():
			return
		}
		conn, err := l.Accept()
		if err != nil {
			<-g.slots
			var temporary interface{ Temporary() bool }
			if g.ctx.Err() != nil || !errors.As(err, &temporary) || !temporary.Temporary() {
				return
			}
			select { // out of descriptors, or somebody who left at once
			case <-time.After(50 * time.Millisecond):
			case <-g.ctx.Done():
			}
			continue
		}
		c := &gateConn{Conn: conn, gate: g}
		if !g.goesWith(c, func() { g.greet(c) }) {
			_ = c.Close()
			return
		}
	}
}

// goesWith runs f, which is about a connection, unless the gate is closed. Close
// cuts the connection, and waits for f.
func (g *Gate) goesWith(c net.Conn, f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.conns[c] = true
	g.goes(f)
	return true
}

// enter says that Close is to wait for leave, unless the gate is closed.
func (g *Gate) enter() (leave func(), open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, false
	}
	g.wait.Add(1)
	return g.wait.Done, true
}

// gateConn is a connection of the command.
type gateConn struct {
	net.Conn
	gate    *Gate
	once    sync.Once
	pending []byte // has been read
}

func (c *gateConn) Read(p []byte) (int, error) {
	if len(c.pending) > 0 {
		n := copy(p, c.pending)
		c.pending = c.pending[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

func (c *gateConn) Close() error {
	c.once.Do(func() {
		c.gate.mu.Lock()
		delete(c.gate.conns, c)
		c.gate.mu.Unlock()
		<-c.gate.slots // its own
	})
	return c.Conn.Close()
}

// CloseWrite says that no more follows.
func (c *gateConn) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// greet finds out what a connection speaks.
func (g *Gate) greet(c *gateConn) {
	first := make([]byte, helloPreamble)
	_ = c.SetReadDeadline(time.Now().Add(helloTimeout))
	if _, err := c.Read(first); err != nil {
		_ = c.Close()
		return
	}
	c.pending = first
	if first[0] == socksVersion {
		g.serveSOCKS(c)
		return
	}
	if !g.calls.push(c) { // the server sets deadlines of its own
		_ = c.Close()
	}
}

// knows reports whether it is the command that asks.
func (g *Gate) knows(user, secret string) bool {
	return subtle.ConstantTimeCompare([]byte(user+":"+secret), []byte(gateUser+":"+g.secret)) == 1
}

// RefusedError says that a gate has refused.
type RefusedError struct{ Refusal Refusal }

func (e *RefusedError) Error() string { return "the sandbox denied " + e.Refusal.String() }

// dial connects to a target, if the command may.
func (g *Gate) dial(ctx context.Context, t Target) (net.Conn, error) {
	if !g.hosts.Allows(t) {
		return nil, g.refuse(Refusal{Target: t})
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	stop := context.AfterFunc(g.ctx, cancel)
	defer stop()
	conn, err := g.dialer.DialContext(ctx, "tcp", t.String())
	var private *PrivateError
	if errors.As(err, &private) {
		return nil, g.refuse(Refusal{Target: t, Private: private.Address.String()})
	}
	return conn, err
}

func (g *Gate) refuse(r Refusal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Contains(g.refusals, r) && len(g.refusals) < mostRefusals {
		g.refusals = append(g.refusals, r)
	}
	return &RefusedError{r}
}

// Refused returns what was refused until now; of very much, the beginning.
func (g *Gate) Refused() []Refusal {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.refusals)
}

// Close cuts every connection and waits until nothing of the gate runs.
func (g *Gate) Close() {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		g.wait.Wait()
		return
	}
	g.closed = true
	listeners, conns := g.listeners, g.conns
	g.conns = make(map[net.Conn]bool)
	g.mu.Unlock()
	g.close()
	for _, l := range listeners {
		_ = l.Close()
	}
	for c := range conns {
		_ = c.Close()
	}
	_ = g.server.Close()
	g.wait.Wait()
}
