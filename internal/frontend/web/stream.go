package web

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/scope"
)

// patient writes to a client that may be slow: each write has a deadline, so
// that a client that reads nothing ends only itself (C17).
type patient struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	timeout  time.Duration
	deadline time.Time
	// strict reports that a deadline ends the response also between writes, as
	// HTTP/2 has it.
	strict bool
	buf    []byte
}

func newPatient(w http.ResponseWriter, r *http.Request, timeout time.Duration) *patient {
	p := &patient{w: w, control: http.NewResponseController(w), timeout: timeout, strict: r.ProtoMajor > 1}
	_ = p.control.SetReadDeadline(time.Time{}) // nothing more is read, and its end would end the request
	return p
}

// extend moves the deadline, though not for each of many writes.
func (p *patient) extend() {
	if now := time.Now(); p.deadline.Sub(now) < p.timeout/2 {
		p.deadline = now.Add(p.timeout)
		_ = p.control.SetWriteDeadline(p.deadline) // a connection without deadlines is in memory
	}
}

// rest takes the deadline back until the next write.
func (p *patient) rest() {
	if p.strict {
		p.deadline = time.Time{}
		_ = p.control.SetWriteDeadline(p.deadline)
	}
}

// keptBuffer is the maximum capacity that a buffer keeps between writes, in bytes.
const keptBuffer = 16 << 10

func (p *patient) write() error {
	p.extend()
	_, err := p.w.Write(p.buf)
	if p.buf = p.buf[:0]; cap(p.buf) > keptBuffer {
		p.buf = nil
	}
	return err
}

// line writes an event as a line.
func (p *patient) line(e event.Event) (err error) {
	if p.buf, err = e.AppendJSON(p.buf); err != nil {
		return err
	}
	p.buf = append(p.buf, '\n')
	return p.write()
}

// stream is a response of server-sent events, as
// https://html.spec.whatwg.org/multipage/server-sent-events.html has them.
type stream struct {
	cancel context.CancelFunc // ends the subscription
	delay  time.Duration
	// opening is the opening of the session; empty if only written events are sent.
	opening string

	mu    sync.Mutex // guards the fields below
	out   *patient
	ended bool // nothing is written any more
	last  time.Time
	beat  *time.Timer
}

// reconnectDelay is the delay after which a client reconnects.
const reconnectDelay = 2 * time.Second

// newStream begins the response. The context ends when the client is gone.
func (s *Server) newStream(w http.ResponseWriter, r *http.Request, opening string) (*stream, context.Context) {
	ctx, cancel := context.WithCancel(r.Context())
	st := &stream{
		cancel:  cancel,
		out:     newPatient(w, r, s.Limits.WriteTimeout),
		delay:   s.Limits.HeartbeatDelay,
		opening: opening,
		last:    time.Now(),
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // otherwise nginx buffers the stream
	st.mu.Lock()
	defer st.mu.Unlock()
	st.out.buf = append(st.out.buf, "retry: "+strconv.FormatInt(reconnectDelay.Milliseconds(), 10)+"\n\n"...)
	st.send(true)
	st.beat = time.AfterFunc(st.delay, scope.Shield(scope.Log(s.Logger, nil, "a heartbeat panicked"), st.heartbeat))
	return st, ctx
}

// send writes the buffer, and reports whether the client is connected.
func (st *stream) send(now bool) bool {
	if st.ended {
		return false
	}
	err := st.out.write()
	if err == nil && now {
		err = st.out.control.Flush()
	}
	st.out.rest()
	if err != nil {
		st.ended = true
		st.cancel()
		return false
	}
	st.last = time.Now()
	return true
}

// event sends an event; one that is not sent now goes with the next.
func (st *stream) event(e event.Event, now bool) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	b := append(st.out.buf, "id: "...)
	b = strconv.AppendUint(b, e.Seq, 10)
	if e.Volatile { // after the session is opened again, the number can belong to another event
		b = append(append(b, '.'), st.opening...)
	}
	b = append(b, "\nevent: event\ndata: "...)
	b, err := e.AppendJSON(b)
	if err != nil {
		st.ended = true // the event comes from a log, which holds only events that can be encoded
		return false
	}
	st.out.buf = append(b, "\n\n"...)
	return st.send(now)
}

// position is the position of the last event of a session's log.
type position struct {
	Seq uint64 `json:"seq"`
}

// say sends something that is no event of the session.
func (st *stream) say(name string, data any) {
	body, err := json.Marshal(data)
	if err != nil {
		return // there is no such type
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.out.buf = append(
		append(append(append(append(st.out.buf, "event: "...), name...), "\ndata: "...), body...),
		"\n\n"...)
	st.send(true)
}

// fail sends the reason why there are no more events.
func (st *stream) fail(s *Server, err error) {
	p := *problemOf(err)
	p.Detail = s.mask(p.Detail)
	st.say("problem", p)
}

// heartbeat shows both sides that the other is there.
func (st *stream) heartbeat() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended {
		return
	}
	silence := time.Since(st.last)
	if silence >= st.delay {
		st.out.buf = append(st.out.buf, ":\n\n"...)
		st.send(true)
		silence = 0
	}
	st.beat.Reset(st.delay - silence)
}

// end ends the response: nothing is written when it has returned.
func (st *stream) end() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.ended = true
	st.beat.Stop()
	st.cancel()
}
