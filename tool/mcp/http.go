package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/internal/scope"
)

const (
	// maxBody bounds one answer over HTTP in bytes.
	maxBody = 64 << 20
	// maxEvent bounds one event of a stream in bytes.
	maxEvent = maxLine
	// maxStreamRetries bounds the reconnections of a broken stream.
	maxStreamRetries = 2
)

// remote is the connection to a server by streamable HTTP.
type remote struct {
	filter
	sdk.StreamableClientTransport

	base   http.RoundTripper
	cancel context.CancelCauseFunc
	life   context.Context // it is the connection's own, no request's

	mu    sync.Mutex // guards the fields below
	conn  sdk.Connection
	login error // reason why a login is needed
}

// newRemote prepares the connection.
func newRemote(s Server, base *http.Client, tokens Tokens) (*remote, error) {
	if base == nil {
		return nil, errors.New("there is no HTTP client for it")
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("its url is not one of HTTP")
	}
	c := &remote{base: base.Transport}
	if c.base == nil {
		c.base = http.DefaultTransport
	}
	c.life, c.cancel = context.WithCancelCause(context.Background())
	headers := http.Header{}
	for name, value := range s.Headers {
		headers.Set(name, value)
	}
	c.StreamableClientTransport = sdk.StreamableClientTransport{
		Endpoint: u.String(), MaxRetries: maxStreamRetries, MaxEventSize: maxEvent, DisableStandaloneSSE: true,
		// A redirect would carry the headers to another server, or leave the trusted
		// server.
		HTTPClient: egress.SameServerOnly(&http.Client{Transport: sender{c, headers, s, tokens}}),
	}
	return c, nil
}

// Connect implements sdk.Transport.
func (c *remote) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := c.StreamableClientTransport.Connect(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = conn
	return conn, err
}

// failure implements connection. A failed request has its own error, unless a login is
// needed.
func (c *remote) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.login
}

// end implements connection. If the server has sessions, it receives the end of the
// session, until ctx ends.
func (c *remote) end(ctx context.Context) error {
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	ended := make(chan struct{})
	go func() { // ends with the request, at the latest when life is cancelled
		defer close(ended)
		if conn != nil {
			_ = conn.Close()
		}
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	c.cancel(errClosed)
	<-ended // the request has ended with life
	return nil
}

// sender sends requests with the server's headers, and bounds the answers.
type sender struct {
	connection *remote
	headers    http.Header
	server     Server
	tokens     Tokens
}

// RoundTrip implements http.RoundTripper.
func (s sender) RoundTrip(r *http.Request) (answer *http.Response, err error) {
	failed := scope.Guard(func() error { // a goroutine of the protocol's implementation
		answer, err = s.send(r) //nolint:bodyclose // the caller closes it
		return nil
	})
	return answer, cmp.Or(failed, err)
}

func (s sender) send(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(s.connection.life, func() { cancel(errClosed) })
	r = r.Clone(ctx)
	for name, values := range s.headers {
		r.Header[name] = values
	}
	answer, err := s.authorized(r)
	if err != nil {
		stop()
		cancel(nil)
		return nil, err
	}
	answer.Body = &body{ReadCloser: answer.Body, room: bound.NewBudget(maxBody), done: func() { stop(); cancel(nil) }}
	return answer, nil
}

// body is a bounded answer.
type body struct {
	io.ReadCloser

	room bound.Budget
	done func()
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.room.Left() == 0 {
		return 0, fmt.Errorf("the server's answer has more than %d bytes", maxBody)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.room.Left())])
	b.room.Take(n)
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}
