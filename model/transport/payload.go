package transport

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

// payload is a request's body. It is let go of when it was sent and the answer
// has begun: a long conversation is larger than all else that a session which
// streams has in memory.
type payload struct {
	mu       sync.Mutex
	data     []byte // nil: it was let go of
	open     int    // readers that were not closed
	answered bool
}

// attach makes p the body of r, also for a redirect or for a connection that
// broke before anything was sent.
func (p *payload) attach(r *http.Request) {
	r.ContentLength = int64(len(p.data))
	r.Body, _ = p.reader() // there is one as long as nobody has answered
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

// answer says that the answer has begun.
func (p *payload) answer() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answered = true
	p.release()
}

// release lets go of the data if nobody needs it any more; with p.mu held.
func (p *payload) release() {
	if p.answered && p.open == 0 {
		p.data = nil
	}
}

// payloadReader is used by one goroutine at a time, but may be closed by another.
type payloadReader struct {
	*payload
	at     int
	closed bool
}

func (r *payloadReader) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return 0, errAnswered
	case r.at == len(r.data):
		return 0, io.EOF
	}
	n := copy(b, r.data[r.at:])
	r.at += n
	return n, nil
}

func (r *payloadReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed = true
		r.open--
		r.release()
	}
	return nil
}
