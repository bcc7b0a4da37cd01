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

	"github.com/settle-agent/settle/internal/scope"
)

// Bounds of a proxy.
const (
	maxConns      = 128              // at a time; others wait
	maxHeader     = 16 << 10         // bytes of a request's head
	helloTimeout  = 30 * time.Second // until a request is complete
	dialTimeout   = 30 * time.Second
	idleTimeout   = 10 * time.Minute // without a byte in either direction
	maxRefusals   = 16               // recorded refusals
	proxyUser     = "settle"
	helloPreamble = 1 // bytes that distinguish the protocols
)

// Proxy is the egress proxy of one command. It must be closed.
type Proxy struct {
	hosts  List
	dialer Dialer
	secret string
	server *http.Server
	calls  *queue // connections that speak HTTP

	ctx   context.Context
	close context.CancelFunc
	slots chan struct{}
	wait  sync.WaitGroup

	mu        sync.Mutex // guards the fields below
	listeners []net.Listener
	conns     map[net.Conn]bool // from the command
	refusals  []Refusal
	closed    bool
}

// Refusal is a refused connection.
type Refusal struct {
	Target Target
	// Private is the target's private address, if that is the reason; otherwise the target is
	// not listed.
	Private string
}

func (r Refusal) String() string {
	if r.Private != "" {
		return fmt.Sprintf("connecting to %s (%s is not a public address)", r.Target, r.Private)
	}
	return fmt.Sprintf("connecting to %s (not an allowed host)", r.Target)
}

// Hosts returns the entries of a [List] that would allow the target; none if no entry can.
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
	if isDefaultPort(r.Target.Port) {
		return []string{strings.Trim(at, "[]")}
	}
	return []string{at + ":" + strconv.Itoa(int(r.Target.Port))}
}

// NewProxy returns a proxy to the hosts of a list, which also sets the dialer's Permit.
func NewProxy(hosts List, dialer Dialer) *Proxy {
	p := &Proxy{
		hosts:  hosts,
		dialer: dialer,
		secret: rand.Text(),
		slots:  make(chan struct{}, maxConns),
		conns:  make(map[net.Conn]bool),
	}
	p.ctx, p.close = context.WithCancel(context.Background())
	p.dialer.Permit = hosts.Permits
	p.calls = &queue{conns: make(chan net.Conn), done: p.ctx.Done()}
	p.server = p.newServer()
	p.run(func() { _ = p.server.Serve(p.calls) })
	return p
}

// run runs f in a goroutine, which Close ends and waits for.
func (p *Proxy) run(f func()) {
	p.wait.Add(1)
	go func() {
		defer p.wait.Done()
		f()
	}()
}

// URL is the address for a program's environment, if the proxy has the port on the program's
// machine.
func (p *Proxy) URL(port uint16) string {
	return "http://" + proxyUser + ":" + p.secret + "@" + net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port)))
}

// Env is the environment for programs, if the proxy has the port.
func (p *Proxy) Env(port uint16) (env []string) {
	url := p.URL(port)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		env = append(env, name+"="+url)
	}
	// No host is reachable without the proxy.
	return append(env, "NO_PROXY=", "no_proxy=", "NODE_USE_ENV_PROXY=1")
}

// Listen opens the proxy at a loopback port.
func (p *Proxy) Listen() (port uint16, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // it does not block
	if err != nil {
		return 0, fmt.Errorf("cannot open the sandbox's proxy: %w", err)
	}
	p.Serve(l)
	return uint16(l.Addr().(*net.TCPAddr).Port), nil
}

// Serve accepts the connections of a listener, which the proxy closes.
func (p *Proxy) Serve(l net.Listener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = l.Close()
		return
	}
	p.listeners = append(p.listeners, l)
	p.run(func() { p.accept(l) })
}

// ServeFile is Serve for a listener that is a descriptor; it closes the file.
func (p *Proxy) ServeFile(file *os.File) {
	defer file.Close()
	if l, err := net.FileListener(file); err == nil { // otherwise the command finds a closed port
		p.Serve(l)
	}
}

func (p *Proxy) accept(l net.Listener) {
	for {
		select {
		case p.slots <- struct{}{}:
		case <-p.ctx.Done():
			return
		}
		conn, err := l.Accept()
		if err != nil {
			<-p.slots
			var temporary interface{ Temporary() bool }
			if p.ctx.Err() != nil || !errors.As(err, &temporary) || !temporary.Temporary() {
				return
			}
			_ = scope.Sleep(p.ctx, 50*time.Millisecond) // out of descriptors, or an aborted connection
			continue
		}
		c := &clientConn{Conn: conn, proxy: p}
		if !p.runWithConn(c, func() { p.detectProtocol(c) }) {
			_ = c.Close()
			return
		}
	}
}

// runWithConn runs f, which uses a connection, unless the proxy is closed. Close closes the
// connection and waits for f.
func (p *Proxy) runWithConn(c net.Conn, f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.conns[c] = true
	p.run(f)
	return true
}

// hold lets Close wait for leave, unless the proxy is closed.
func (p *Proxy) hold() (leave func(), open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false
	}
	p.wait.Add(1)
	return p.wait.Done, true
}

// clientConn is a connection of the command.
type clientConn struct {
	net.Conn
	proxy   *Proxy
	once    sync.Once
	pending []byte // read, not consumed
}

func (c *clientConn) Read(p []byte) (int, error) {
	if len(c.pending) > 0 {
		n := copy(p, c.pending)
		c.pending = c.pending[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

func (c *clientConn) Close() error {
	c.once.Do(func() {
		c.proxy.mu.Lock()
		delete(c.proxy.conns, c)
		c.proxy.mu.Unlock()
		<-c.proxy.slots // releases its own slot
	})
	return c.Conn.Close()
}

// CloseWrite closes the writing side.
func (c *clientConn) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// detectProtocol passes a connection to HTTP or SOCKS by its first byte.
func (p *Proxy) detectProtocol(c *clientConn) {
	first := make([]byte, helloPreamble)
	_ = c.SetReadDeadline(time.Now().Add(helloTimeout))
	if _, err := c.Read(first); err != nil {
		_ = c.Close()
		return
	}
	c.pending = first
	if first[0] == socksVersion {
		p.serveSOCKS(c)
		return
	}
	if !p.calls.push(c) { // the server sets its own deadlines
		_ = c.Close()
	}
}

// authenticates reports whether the credentials are the command's.
func (p *Proxy) authenticates(user, secret string) bool {
	return subtle.ConstantTimeCompare([]byte(user+":"+secret), []byte(proxyUser+":"+p.secret)) == 1
}

// RefusedError reports a refused connection.
type RefusedError struct{ Refusal Refusal }

func (e *RefusedError) Error() string { return "the sandbox denied " + e.Refusal.String() }

// dial connects to a target, if the command may.
func (p *Proxy) dial(ctx context.Context, t Target) (net.Conn, error) {
	if !p.hosts.Allows(t) {
		return nil, p.refuse(Refusal{Target: t})
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	stop := context.AfterFunc(p.ctx, cancel)
	defer stop()
	conn, err := p.dialer.DialContext(ctx, "tcp", t.String())
	var private *PrivateError
	if errors.As(err, &private) {
		return nil, p.refuse(Refusal{Target: t, Private: private.Address.String()})
	}
	return conn, err
}

func (p *Proxy) refuse(r Refusal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.refusals, r) && len(p.refusals) < maxRefusals {
		p.refusals = append(p.refusals, r)
	}
	return &RefusedError{r}
}

// Refused returns the first maxRefusals refusals so far.
func (p *Proxy) Refused() []Refusal {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.refusals)
}

// Close closes all connections and waits for the goroutines of the proxy.
func (p *Proxy) Close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		p.wait.Wait()
		return
	}
	p.closed = true
	listeners, conns := p.listeners, p.conns
	p.conns = make(map[net.Conn]bool)
	p.mu.Unlock()
	p.close()
	for _, l := range listeners {
		_ = l.Close()
	}
	for c := range conns {
		_ = c.Close()
	}
	_ = p.server.Close()
	p.wait.Wait()
}
