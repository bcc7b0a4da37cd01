package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Break ends the connection because of a defect that its handler met: nothing more is
// read, and Close and Wait return the error.
func (c *Conn) Break(err error) {
	c.update(func(s *state) {
		if s.readErr == nil {
			s.readErr = err
		}
	})
	c.shut(err)
}

// read passes incoming messages on, in order.
func (c *Conn) read() {
	in := NewLineReader(c.o.In, c.o.MaxFrame)
	for {
		line, err := in.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				err = fmt.Errorf("cannot read the next message: %w", err)
			}
			c.update(func(s *state) { s.readErr = err })
			return
		}
		if c.ctx.Err() != nil {
			return // closed, or the peer does not read: Close or Wait reports it
		}
		if line.Cut {
			c.refuse(tooLong(line.Text, c.o.MaxFrame))
			continue
		}
		c.take(line.Text)
	}
}

// take passes one message on.
func (c *Conn) take(line []byte) {
	m, err := parse(line, c.o.Dialect)
	var r *refusal
	switch {
	case errors.As(err, &r):
		c.refuse(r)
	case m.answer() && m.Error != nil:
		c.answered(m.ID, nil, m.Error)
	case m.answer():
		c.answered(m.ID, m.Result, nil)
	case m.ID == nil:
		c.o.Handler.Handle(c.ctx, &Request{Method: m.Method, Params: m.Params, conn: c})
	default:
		c.request(m)
	}
}

// request opens a request.
func (c *Conn) request(m *message) {
	ctx, cancel := context.WithCancelCause(c.ctx)
	r := &Request{ID: m.ID, Method: m.Method, Params: m.Params, conn: c, cancel: cancel}
	var refused *refusal
	c.update(func(s *state) {
		switch {
		case s.open[string(m.ID)] != nil: // the answer would be ambiguous
			refused = refuse(null(), CodeInvalidRequest, "the id %s is in use already", m.ID)
		case len(s.open) >= c.o.MaxInFlight:
			refused = &refusal{id: m.ID, err: c.o.Overloaded}
		default:
			s.open[string(m.ID)] = r
		}
	})
	if refused != nil {
		cancel(nil)
		c.refuse(refused)
		return
	}
	c.o.Handler.Handle(ctx, r)
}

// refuse answers an invalid or refused message. It never answers an answer: two peers
// could do that forever.
func (c *Conn) refuse(r *refusal) {
	c.o.Logger.Warn("a message was refused", "id", string(r.id), "error", r.err.Message)
	if r.answer {
		if r.id != nil && string(r.id) != "null" {
			c.answered(r.id, nil, r.err)
		}
		return
	}
	c.sendUnsolicited(&message{ID: r.id, Error: r.err})
}

// Cancel ends the context of the request with the id, in JSON, and reports whether the
// request was open. The request remains open until it is answered.
func (c *Conn) Cancel(id []byte) bool {
	var r *Request
	c.update(func(s *state) { r = s.open[string(id)] })
	if r == nil {
		return false
	}
	r.cancel(ErrCancelled)
	return true
}
