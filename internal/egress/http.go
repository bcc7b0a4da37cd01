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

// queue is a listener that passes connections to the HTTP server.
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

func (q *queue) Close() error   { return nil } // the proxy ends it
func (q *queue) Addr() net.Addr { return &net.TCPAddr{} }

// newServer returns the server for HTTP and CONNECT.
func (p *Proxy) newServer() *http.Server {
	quiet := log.New(io.Discard, "", 0)
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { // it removes the hop-by-hop headers
			r.Out.Header.Del("Proxy-Authorization")
			r.Out.Header.Del("Proxy-Connection")
			r.Out.URL.RawQuery = r.In.URL.RawQuery // a query with a semicolon must stay unchanged
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
				http.Error(
					w, "settle: this is the proxy of a sandboxed command, whose environment has the password",
					http.StatusProxyAuthRequired,
				)
			case r.Method == http.MethodConnect:
				p.connect(w, r)
			case r.URL.Scheme != "http" || r.URL.Host == "":
				http.Error(
					w,
					"settle: this is a proxy; it takes CONNECT, and requests for http://HOST/…",
					http.StatusBadRequest,
				)
			default:
				forward.ServeHTTP(w, r)
			}
		}),
		ReadHeaderTimeout: helloTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ErrorLog: quiet,
		DisableGeneralOptionsHandler: true,
	}
}

// proxyAuthorization parses a header of the scheme Basic (RFC 7617).
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

// sayFailure answers with the reason of a failed connection.
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

// connect opens a tunnel.
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
	if c, ok := from.(*clientConn); ok && buffered.Reader.Buffered() > 0 { // data before the answer
		early, _ := buffered.Peek(buffered.Reader.Buffered())
		c.pending = append(slices.Clone(early), c.pending...)
	}
	p.tunnel(from, to)
}

// tunnel copies data in both directions until both sides are closed, one fails, or the tunnel is
// idle.
func (p *Proxy) tunnel(from, to net.Conn) {
	idle := newWatch(idleTimeout, func() {
		_ = from.Close()
		_ = to.Close()
	})
	defer idle.stop()
	stop := context.AfterFunc(p.ctx, func() { _ = to.Close() }) // Close itself closes the client's connection
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { carry(to, from, idle) }) // each ends with its source
	both.Go(func() { carry(from, to, idle) })
	both.Wait()
}

// carry copies data from one side to the other.
func carry(to, from net.Conn, idle *watch) {
	if _, err := io.Copy(to, idle.reader(from)); err != nil {
		_ = to.Close()
		_ = from.Close()
		return
	}
	_ = closeWrite(to)
}
