package transport

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

// payload is a request's body. It is released after it was sent and the answer has begun:
// a long conversation is larger than all other memory of a streaming session.
type payload struct {
	mu       sync.Mutex
	data     []byte // nil after its release
	open     int    // readers that need the data
	answered bool
}

// attach makes p the body of r, also for a redirect or for a connection that
// broke before anything was sent.
func (p *payload) attach(r *http.Request) {
	r.ContentLength = int64(len(p.data))
	r.Body, _ = p.reader() // the data exist until the answer begins
	r.GetBody = p.reader
}

var errAnswered = errors.New("the request's body is gone: its answer has begun")

func (p *payload) reader() (io.ReadCloser, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.data == nil {
		return nil, errAnswered
	}
	p.open++
	return &payloadReader{payload: p}, nil
}

// answer records that the response has begun.
func (p *payload) answer() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answered = true
	p.release()
}

// release frees the data if no reader needs them; p.mu must be held.
func (p *payload) release() {
	if p.answered && p.open == 0 {
		p.data = nil
	}
}

// payloadReader is used by one goroutine at a time, but may be closed by another.
type payloadReader struct {
	*payload
	at       int
	finished bool // does not need the data: has read them all, or was closed
	closed   bool
}

func (r *payloadReader) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return 0, errAnswered
	case r.finished:
		return 0, io.EOF
	}
	n := copy(b, r.data[r.at:])
	if r.at += n; r.at == len(r.data) { // net/http closes it later: over HTTP/2, when the answer has ended
		r.finish()
	}
	return n, nil
}

func (r *payloadReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.finish()
	return nil
}

// finish notes that the reader does not need the data any more; r.mu must be held.
func (r *payloadReader) finish() {
	if !r.finished {
		r.finished = true
		r.open--
		r.release()
	}
}
