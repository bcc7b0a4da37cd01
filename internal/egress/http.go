package egress

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
)

// queue hands connections to the HTTP server, which takes it for a listener.
type queue struct {
	conns chan net.Conn
	done  <-chan struct{}
}

func (q *queue) push(c net.Conn) bool {
	select {
	case q.conns <- c:
		return true
	case <-q.done:
		return false
	}
}

func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.done:
		return nil, net.ErrClosed
	}
}

func (q *queue) Close() error   { return nil } // the gate ends it
func (q *queue) Addr() net.Addr { return &net.TCPAddr{} }

// newServer returns the server of HTTP and CONNECT.
func (p *Proxy) newServer() *http.Server {
	quiet := log.New(io.Discard, "", 0)
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { // it has left out what is between command and proxy
			r.Out.Header.Del("Proxy-Authorization")
			r.Out.Header.Del("Proxy-Connection")
			r.Out.URL.RawQuery = r.In.URL.RawQuery // which it has cleaned: a query with a semicolon goes through whole
		},
		Transport: &http.Transport{
			DialContext:        func(ctx context.Context, _, address string) (net.Conn, error) { return p.dialTo(ctx, address) },
			DisableKeepAlives:  true,
			DisableCompression: true,
		},
		FlushInterval: -1,
		ErrorLog:      quiet,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, err error) { sayFailure(w, err) },
	}
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			leave, open := p.hold()
			if !open {
				return
			}
			defer leave()
			user, secret, _ := proxyAuthorization(r.Header.Get("Proxy-Authorization"))
			switch {
			case !p.authenticates(user, secret):
				w.Header().Set("Proxy-Authenticate", `Basic realm="settle"`)
				http.Error(w, "settle: this is the proxy of a sandboxed command, whose environment has the password", http.StatusProxyAuthRequired)
			case r.Method == http.MethodConnect:
				p.connect(w, r)
			case r.URL.Scheme != "http" || r.URL.Host == "":
				http.Error(w, "settle: this is a proxy; it takes CONNECT, and requests for http://HOST/…", http.StatusBadRequest)
			default:
				forward.ServeHTTP(w, r)
			}
		}),
		ReadHeaderTimeout: helloTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ErrorLog: quiet,
		DisableGeneralOptionsHandler: true,
	}
}

// proxyAuthorization reads a header of the scheme Basic (RFC 7617).
func proxyAuthorization(header string) (user, secret string, ok bool) {
	scheme, code, _ := strings.Cut(header, " ")
	raw, err := base64.StdEncoding.DecodeString(code)
	if err != nil || !strings.EqualFold(scheme, "Basic") {
		return "", "", false
	}
	return strings.Cut(string(raw), ":")
}

func (p *Proxy) dialTo(ctx context.Context, address string) (net.Conn, error) {
	t, err := parseTarget(address)
	if err != nil {
		return nil, err
	}
	return p.dial(ctx, t)
}

// sayFailure answers with why there is no connection.
func sayFailure(w http.ResponseWriter, err error) {
	var refused *RefusedError
	code := http.StatusBadGateway
	if errors.As(err, &refused) {
		code = http.StatusForbidden
		w.Header().Set("X-Settle-Denied", refused.Refusal.Target.String())
	}
	w.Header().Set("Connection", "close")
	http.Error(w, "settle: "+err.Error(), code)
}

// connect makes a tunnel.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	to, err := p.dialTo(r.Context(), r.Host)
	if err != nil {
		sayFailure(w, err)
		return
	}
	defer to.Close()
	from, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "settle: "+err.Error(), http.StatusInternalServerError)
		return
	}
	defer from.Close()
	if _, err := io.WriteString(from, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	if c, ok := from.(*clientConn); ok && buffered.Reader.Buffered() > 0 { // said before it was answered
		early, _ := buffered.Peek(buffered.Reader.Buffered())
		c.pending = append(slices.Clone(early), c.pending...)
	}
	p.tunnel(from, to)
}

// tunnel carries bytes both ways until both sides have said all, one is cut, or
// nobody says anything for long.
func (p *Proxy) tunnel(from, to net.Conn) {
	idle := newWatch(idleTimeout, func() {
		_ = from.Close()
		_ = to.Close()
	})
	defer idle.stop()
	stop := context.AfterFunc(p.ctx, func() { _ = to.Close() }) // Close cuts the other side itself
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { carry(to, from, idle) }) // each ends when its source does, or is cut
	both.Go(func() { carry(from, to, idle) })
	both.Wait()
}

// carry copies what one side says to the other.
func carry(to, from net.Conn, idle *watch) {
	if _, err := io.Copy(to, idle.reader(from)); err != nil {
		_ = to.Close()
		_ = from.Close()
		return
	}
	_ = closeWrite(to)
}
