package jsonrpc

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// Outgoing is a request that was sent.
type Outgoing struct {
	// ID is the request's id.
	ID     int64
	Method string

	conn   *Conn
	done   chan struct{} // closed when what follows is set, by update alone
	result json.RawMessage
	err    error
}

// Call sends a request and waits for its answer. An error that was answered is
// an *Error. If ctx ends, an answer that still comes is dropped. result may be
// nil.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	o, err := c.Send(ctx, method, params)
	if err != nil {
		return err
	}
	return o.Wait(ctx, result)
}

// Send sends a request, whose answer is to be waited for. ctx bounds the wait
// for room.
func (c *Conn) Send(ctx context.Context, method string, params any) (*Outgoing, error) {
	raw, err := arguments(params)
	if err != nil {
		return nil, err
	}
	o := &Outgoing{Method: method, conn: c, done: make(chan struct{})}
	err = c.enqueue(ctx, func(s *state) (*message, error) {
		if s.deaf() {
			return nil, ErrClosed // nobody would answer
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

// Wait waits for the answer until ctx ends; see Call. It is called once.
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

// Abandon gives the request up, and reports whether it had not been answered:
// then Wait returns ErrCancelled, and an answer that still comes is dropped.
func (o *Outgoing) Abandon() (waiting bool) {
	o.conn.update(func(s *state) {
		if waiting = s.calls[o.ID] == o; waiting {
			delete(s.calls, o.ID)
			o.settle(nil, ErrCancelled)
		}
	})
	return waiting
}

// settle gives the call its answer; it has been taken out of the state.
func (o *Outgoing) settle(result json.RawMessage, err error) {
	o.result, o.err = result, err
	close(o.done)
}

// answered hands an answer to whoever waits for it. One that nobody waits for,
// or not any more, is dropped.
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
		c.o.Logger.Warn("an answer came that nobody waits for", "id", string(rawID))
	}
}
