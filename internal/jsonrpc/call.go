package jsonrpc

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// Outgoing is a sent request.
type Outgoing struct {
	// ID is the request's id.
	ID     int64
	Method string

	conn   *Conn
	done   chan struct{} // closed by update after it has set result and err
	result json.RawMessage
	err    error
}

// Call sends a request and waits for its answer. An error answer is returned as an
// *Error. If ctx ends, a later answer is dropped. result can be nil.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	o, err := c.Send(ctx, method, params)
	if err != nil {
		return err
	}
	return o.Wait(ctx, result)
}

// Send sends a request; Wait returns its answer. ctx bounds the wait for room in the
// queue.
func (c *Conn) Send(ctx context.Context, method string, params any) (*Outgoing, error) {
	raw, err := arguments(params)
	if err != nil {
		return nil, err
	}
	o := &Outgoing{Method: method, conn: c, done: make(chan struct{})}
	err = c.enqueue(ctx, func(s *state) (*message, error) {
		if s.inputEnded() {
			return nil, ErrClosed // the peer can send no answer
		}
		s.lastCall++
		o.ID = s.lastCall
		s.calls[o.ID] = o
		return &message{ID: json.RawMessage(strconv.FormatInt(o.ID, 10)), Method: method, Params: raw}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot send %q: %w", method, err)
	}
	return o, nil
}

// Wait waits for the answer until ctx ends; see Call. Call Wait once.
func (o *Outgoing) Wait(ctx context.Context, result any) error {
	select {
	case <-o.done:
	case <-ctx.Done():
		o.conn.update(func(s *state) { delete(s.calls, o.ID) })
		return fmt.Errorf("%q was not answered: %w", o.Method, context.Cause(ctx))
	}
	switch {
	case o.err != nil:
		return o.err
	case result == nil:
		return nil
	}
	if err := json.Unmarshal(o.result, result); err != nil {
		return fmt.Errorf("cannot read the answer to %q: %w", o.Method, err)
	}
	return nil
}

// Abandon abandons the request and reports whether it was unanswered. Wait then returns
// ErrCancelled, and a later answer is dropped.
func (o *Outgoing) Abandon() (waiting bool) {
	o.conn.update(func(s *state) {
		if waiting = s.calls[o.ID] == o; waiting {
			delete(s.calls, o.ID)
			o.settle(nil, ErrCancelled)
		}
	})
	return waiting
}

// settle resolves the call, which update has removed from the state.
func (o *Outgoing) settle(result json.RawMessage, err error) {
	o.result, o.err = result, err
	close(o.done)
}

// answered passes an answer to the waiting call. It drops an answer without a waiting
// call.
func (c *Conn) answered(rawID json.RawMessage, result json.RawMessage, err error) {
	id, parseErr := strconv.ParseInt(string(rawID), 10, 64)
	known := false
	c.update(func(s *state) {
		o := s.calls[id]
		if known = o != nil && parseErr == nil; known {
			delete(s.calls, id)
			o.settle(result, err)
		}
	})
	if !known {
		c.o.Logger.Warn("received an answer without a waiting request", "id", string(rawID))
	}
}
