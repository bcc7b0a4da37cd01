package clienttest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/jsonrpc"
)

// Peer is a client that speaks JSON-RPC with a frontend over its standard streams.
type Peer struct {
	*testing.T
	Place

	Conn *jsonrpc.Conn
	In   *io.PipeWriter // of the frontend

	received *recorder
	paused   sync.Mutex // held while the client does not read
	once     sync.Once
	ended    chan struct{} // closed when the frontend has ended
	err      error         // that it ended with

	mu      sync.Mutex // guards the fields below
	answers map[string]Answer
}

// Answer answers a request of the frontend. A nil result without an error is no
// answer.
type Answer func(params json.RawMessage) (result any, err error)

// Serve connects a client with a frontend, which serve runs until its input ends. [Peer.End]
// is called at the end of the test.
func Serve(t *testing.T, p Place, dialect jsonrpc.Dialect, serve func(in io.Reader, out io.Writer) error) *Peer {
	t.Helper()
	peer := &Peer{
		T: t, Place: p, received: &recorder{arrived: make(chan struct{})}, ended: make(chan struct{}),
		answers: map[string]Answer{},
	}
	fromClient, toFrontend := io.Pipe()
	fromFrontend, toClient := io.Pipe()
	peer.In = toFrontend
	go func() { // ends with its input, which End closes
		defer close(peer.ended)
		peer.err = serve(fromClient, toClient)
		_ = toClient.Close()
		_ = fromClient.Close()
	}()
	peer.Conn = jsonrpc.New(jsonrpc.Options{
		In: io.TeeReader(
			gated{fromFrontend, &peer.paused}, peer.received,
		), Out: toFrontend, Dialect: dialect, Handler: peer, MaxInFlight: 1000,
	})
	peer.Conn.Start(context.Background()) // not the test's, which ends before the clean-up
	t.Cleanup(peer.End)
	return peer
}

// gated is a reader that waits while a test holds the mutex.
type gated struct {
	io.Reader
	paused *sync.Mutex
}

// Read implements [io.Reader].
func (g gated) Read(p []byte) (int, error) {
	n, err := g.Reader.Read(p)
	g.paused.Lock()
	defer g.paused.Unlock()
	return n, err
}

// End closes the input of the frontend, waits for its end, and holds every log against
// the contract, once.
func (p *Peer) End() { p.once.Do(p.end) }

func (p *Peer) end() {
	_ = p.In.Close()
	if err := p.Ended(); err != nil {
		p.Errorf("the frontend ended with: %v", err)
	}
	Wait(p, p.Conn.Ended())
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = p.Conn.Close(now) // requests without an answer stay unanswered
	p.CheckLogs(p.T)
}

// Ended waits until the frontend has ended and all its output is read, and returns its
// error.
func (p *Peer) Ended() error {
	p.Helper()
	Wait(p, p.ended)
	Wait(p, p.Conn.Ended())
	return p.err
}

// Hold has the client not read until release is called.
func (p *Peer) Hold() (release func()) {
	p.paused.Lock()
	return p.paused.Unlock
}

// Wait waits for something to come, or for a channel to be closed.
func Wait[T any](p *Peer, ch <-chan T) (got T) {
	p.Helper()
	select {
	case got = <-ch:
	case <-time.After(Patience):
		p.Fatalf("nothing came within %v; so far:\n%s", Patience, strings.Join(p.Lines(), "\n"))
	}
	return got
}

// Lines returns the frontend's output lines so far.
func (p *Peer) Lines() []string {
	lines, _ := p.received.sofar()
	return lines
}

// Forget discards the output recorded so far.
func (p *Peer) Forget() { p.received.forget() }

// Until waits until the lines are as they should be.
func (p *Peer) Until(ok func(lines []string) bool) {
	p.Helper()
	timeout := time.After(Patience)
	for {
		lines, more := p.received.sofar()
		if ok(lines) {
			return
		}
		select {
		case <-more:
		case <-timeout:
			p.Fatalf("nothing came within %v; so far:\n%s", Patience, strings.Join(lines, "\n"))
		}
	}
}

// Seen waits until n lines contain the text.
func (p *Peer) Seen(text string, n int) {
	p.Helper()
	p.Until(func(lines []string) bool { return count(lines, text) >= n })
}

// Count returns how many lines contain the text.
func (p *Peer) Count(text string) int { return count(p.Lines(), text) }

func count(lines []string, text string) (n int) {
	for _, line := range lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// Answer answers the requests of the frontend with the given method. Requests with other
// methods receive "method not found".
func (p *Peer) Answer(method string, answer Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[method] = answer
}

// Handle implements [jsonrpc.Handler].
func (p *Peer) Handle(_ context.Context, r *jsonrpc.Request) {
	if r.IsNotification() {
		return
	}
	p.mu.Lock()
	answer := p.answers[r.Method]
	p.mu.Unlock()
	if answer == nil {
		r.Fail(jsonrpc.MethodNotFound(r.Method))
		return
	}
	go func() { // ends with the test, which waits for the effect
		switch result, err := answer(r.Params); {
		case err != nil:
			r.Fail(err)
		case result != nil:
			r.Reply(result)
		}
	}()
}

// Call calls a method; a failure is the error.
func (p *Peer) Call(method string, params any) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	var result map[string]any
	err := p.Conn.Call(ctx, method, params, &result)
	return result, err
}

// Must calls a method that must succeed.
func (p *Peer) Must(method string, params any) map[string]any {
	p.Helper()
	result, err := p.Call(method, params)
	if err != nil {
		p.Fatalf("%s: %v", method, err)
	}
	return result
}

// Refused calls a method that must fail with the code, and returns the message.
func (p *Peer) Refused(code int, method string, params any) string {
	p.Helper()
	result, err := p.Call(method, params)
	var refused *jsonrpc.Error
	if !errors.As(err, &refused) || refused.Code != code {
		p.Fatalf("%s: %v, %v; want an error %d", method, result, err, code)
	}
	return refused.Message
}

// Send sends a request, whose answer is waited for later.
func (p *Peer) Send(method string, params any) *jsonrpc.Outgoing {
	p.Helper()
	sent, err := p.Conn.Send(p.Context(), method, params)
	if err != nil {
		p.Fatal(err)
	}
	return sent
}

// Notify sends a notification.
func (p *Peer) Notify(method string, params any) {
	p.Helper()
	if err := p.Conn.Notify(p.Context(), method, params); err != nil {
		p.Fatal(err)
	}
}
