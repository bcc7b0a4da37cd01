package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// inbox knows the requests that came over HTTP and are not answered, so that
// the answers to those that are cancelled can be dropped: the SDK gives one.
type inbox struct {
	ending func(session string) *place // nil for none

	mu    sync.Mutex // guards what follows
	calls map[callID]*posted
	quiet chan struct{} // set while somebody waits for all calls to be answered
}

// callID is a request in a session of the protocol.
type callID struct {
	session string
	id      jsonrpc.ID
}

// posted is a request that came over HTTP.
type posted struct {
	id jsonrpc.ID

	mu        sync.Mutex // guards what follows
	cancelled bool
	ending    *place
}

func newInbox(ending func(string) *place) *inbox {
	return &inbox{ending: ending, calls: map[callID]*posted{}}
}

// take notes what a body means, and returns its request, if it is one.
func (b *inbox) take(session string, body []byte) *posted {
	msg, err := jsonrpc.DecodeMessage(body)
	req, ok := msg.(*jsonrpc.Request)
	if err != nil || !ok || session == "" {
		return nil // the SDK sees to what is wrong
	}
	if !req.IsCall() {
		if req.Method == methodCancelled {
			b.cancel(session, req.Params)
		}
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	key := callID{session, req.ID}
	if b.calls[key] != nil {
		return nil // the SDK refuses it
	}
	p := &posted{id: req.ID}
	b.calls[key] = p
	return p
}

// cancel notes that nobody wants the answer to a request any more.
func (b *inbox) cancel(session string, raw json.RawMessage) {
	id, ok := cancelledID(raw)
	if !ok {
		return
	}
	b.mu.Lock()
	p := b.calls[callID{session, id}]
	b.mu.Unlock()
	if p == nil {
		return // it was answered
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.cancelled && b.ending != nil {
		p.ending = b.ending(session)
	}
	p.cancelled = true
}

// answered lets go of a request, and reports whether its answer is wanted.
func (b *inbox) answered(session string, id jsonrpc.ID) (wanted bool) {
	b.mu.Lock()
	p := b.calls[callID{session, id}]
	b.remove(callID{session, id})
	b.mu.Unlock()
	if p == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ending.admit()
	return !p.cancelled
}

// forget lets go of the requests of a session that has ended.
func (b *inbox) forget(session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, p := range b.calls {
		if key.session == session {
			p.mu.Lock()
			p.ending.admit()
			p.mu.Unlock()
			b.remove(key)
		}
	}
}

// remove removes a request. The caller holds mu.
func (b *inbox) remove(key callID) {
	delete(b.calls, key)
	if len(b.calls) == 0 && b.quiet != nil {
		close(b.quiet)
		b.quiet = nil
	}
}

// drain waits until all requests are answered, or ctx ends.
func (b *inbox) drain(ctx context.Context) {
	b.mu.Lock()
	quiet := make(chan struct{})
	if len(b.calls) == 0 {
		close(quiet)
	} else {
		b.quiet = quiet
	}
	b.mu.Unlock()
	select {
	case <-quiet:
	case <-ctx.Done():
	}
}

// errUnwanted says that nobody wants the answer.
var errUnwanted = errors.New("the request was cancelled")

// store keeps what is sent, for clients that come back, without the answers
// that nobody wants.
type store struct {
	sdk.EventStore

	inbox *inbox
}

// Append implements [sdk.EventStore]. Every message is given to it before it is
// sent.
func (s *store) Append(ctx context.Context, session, stream string, data []byte) error {
	if msg, err := jsonrpc.DecodeMessage(data); err == nil {
		if response, ok := msg.(*jsonrpc.Response); ok && !s.inbox.answered(session, response.ID) {
			return errUnwanted
		}
	}
	return s.EventStore.Append(ctx, session, stream, data)
}

// SessionClosed implements [sdk.EventStore].
func (s *store) SessionClosed(ctx context.Context, session string) error {
	s.inbox.forget(session)
	return s.EventStore.SessionClosed(ctx, session)
}

// writer bounds each write, shows on silent streams that the other side is
// there, and drops the answer to a request that was cancelled: then the stream
// ends without one.
type writer struct {
	http.ResponseWriter

	call    *posted // nil if it is not about one
	timeout time.Duration

	mu   sync.Mutex // guards what follows, and writes
	last time.Time  // of the last event; zero if it is no stream
}

// writer returns what a handler writes to; the caller calls end after it.
func (e *Endpoint) writer(w http.ResponseWriter, call *posted) (*writer, func()) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // the request has been read
	out := &writer{ResponseWriter: w, call: call, timeout: e.Limits.WriteTimeout}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { // ends with end, which waits for it
		defer close(ended)
		beat := time.NewTicker(e.Limits.HeartbeatDelay)
		defer beat.Stop()
		for {
			select {
			case <-beat.C:
				out.heartbeat(e.Limits.HeartbeatDelay)
			case <-stop:
				return
			}
		}
	}()
	return out, func() { close(stop); <-ended }
}

// Unwrap is for [http.ResponseController].
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements [http.ResponseWriter]. The SDK writes each event at once.
func (w *writer) Write(p []byte) (int, error) {
	if w.call != nil && w.call.answers(p) {
		return len(p), nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Header().Get("Content-Type") == "text/event-stream" {
		w.last = time.Now()
	}
	return w.write(p)
}

// FlushError is for [http.ResponseController].
func (w *writer) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// write writes. The caller holds mu.
func (w *writer) write(p []byte) (int, error) {
	control := http.NewResponseController(w.ResponseWriter)
	_ = control.SetWriteDeadline(time.Now().Add(w.timeout)) // where there are none, writes are not bounded
	n, err := w.ResponseWriter.Write(p)
	_ = control.SetWriteDeadline(time.Time{}) // a stream may be silent for long
	return n, err
}

// heartbeat writes a comment to a stream that has been silent.
func (w *writer) heartbeat(delay time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last.IsZero() || time.Since(w.last) < delay/2 {
		return
	}
	if _, err := w.write([]byte(":\n\n")); err == nil {
		_ = http.NewResponseController(w.ResponseWriter).Flush() // the next write tells
	}
}

// answers reports whether an event is the answer to a request that was
// cancelled.
func (p *posted) answers(written []byte) bool {
	p.mu.Lock()
	cancelled := p.cancelled
	p.mu.Unlock()
	if !cancelled {
		return false
	}
	_, data, ok := bytes.Cut(written, []byte("data: "))
	if !ok {
		return false
	}
	msg, err := jsonrpc.DecodeMessage(bytes.TrimSpace(data))
	response, is := msg.(*jsonrpc.Response)
	return err == nil && is && response.ID == p.id
}
