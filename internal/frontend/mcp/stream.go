package mcp

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/internal/scope"
)

// errUnwanted reports that the client has cancelled the request.
var errUnwanted = errors.New("the request was cancelled")

// eventStore keeps sent messages for clients that reconnect, without the answers to
// cancelled requests.
type eventStore struct {
	sdk.EventStore

	calls *calls
}

// Append implements [sdk.EventStore]. Every message is given to it before it is
// sent.
func (s *eventStore) Append(ctx context.Context, session, stream string, data []byte) error {
	if msg, err := jsonrpc.DecodeMessage(data); err == nil {
		if response, ok := msg.(*jsonrpc.Response); ok && !s.calls.answer(session, response.ID) {
			return errUnwanted
		}
	}
	return s.EventStore.Append(ctx, session, stream, data)
}

// SessionClosed implements [sdk.EventStore].
func (s *eventStore) SessionClosed(ctx context.Context, session string) error {
	s.calls.forget(session)
	return s.EventStore.SessionClosed(ctx, session)
}

// writer bounds each write, sends signs of life on silent streams, and drops the answer to a
// cancelled request: then the stream ends without one.
type writer struct {
	http.ResponseWriter

	call    *call // nil if it is not about one
	timeout time.Duration

	mu   sync.Mutex // guards the fields below, and writes
	last time.Time  // of the last event; zero if it is no stream
}

// writer returns the writer of a handler; the caller calls end after it.
func (e *Endpoint) writer(w http.ResponseWriter, one *call) (*writer, func()) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // the request has been read
	out := &writer{ResponseWriter: w, call: one, timeout: e.Limits.WriteTimeout}
	stop, ended := make(chan struct{}), make(chan struct{})
	go scope.Shield(scope.Log(e.Logger, nil, "a heartbeat panicked"), func() { // ends with end, which waits for it
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
	})()
	return out, func() { close(stop); <-ended }
}

// Unwrap is for [http.ResponseController].
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements [http.ResponseWriter]. The SDK writes each event at once.
func (w *writer) Write(p []byte) (int, error) {
	if w.call != nil && w.call.Cancelled() && answers(p, w.call.Request.id) {
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
		_ = http.NewResponseController(w.ResponseWriter).Flush() // the next write returns the error
	}
}

// answers reports whether an event is the answer to the request.
func answers(written []byte, id jsonrpc.ID) bool {
	_, data, ok := bytes.Cut(written, []byte("data: "))
	if !ok {
		return false
	}
	msg, err := jsonrpc.DecodeMessage(bytes.TrimSpace(data))
	response, is := msg.(*jsonrpc.Response)
	return err == nil && is && response.ID == id
}
