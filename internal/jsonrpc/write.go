package jsonrpc

import (
	"context"
	"fmt"
)

// Notify sends a notification. ctx bounds the wait for room in the queue; a nil error
// means that the notification is queued.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	raw, err := arguments(params)
	if err != nil {
		return err
	}
	err = c.enqueue(ctx, func(*state) (*message, error) { return &message{Method: method, Params: raw}, nil })
	if err != nil {
		return fmt.Errorf("cannot send %q: %w", method, err)
	}
	return nil
}

// enqueue waits for room, then queues the message that next returns.
func (c *Conn) enqueue(ctx context.Context, next func(*state) (*message, error)) error {
	for {
		var room chan struct{}
		var err error
		c.update(func(s *state) {
			switch {
			case s.writeErr != nil:
				err = s.writeErr
			case s.done:
				err = ErrClosed
			case len(s.queue)+s.writing >= c.o.MaxQueue:
				if s.room == nil {
					s.room = make(chan struct{})
				}
				room = s.room
			default:
				var m *message
				if m, err = next(s); err == nil {
					err = c.queue(s, m)
				}
			}
		})
		if err != nil || room == nil {
			return err
		}
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// answer queues the answer to a request, if it is the first one.
func (c *Conn) answer(r *Request, m *message) {
	if r.IsNotification() {
		return
	}
	c.update(func(s *state) {
		if s.open[string(r.ID)] != r {
			return
		}
		delete(s.open, string(r.ID))
		c.unbounded(s, m)
	})
	r.cancel(nil)
}

// sendUnsolicited queues an answer that belongs to no request.
func (c *Conn) sendUnsolicited(m *message) {
	c.update(func(s *state) { c.unbounded(s, m) })
}

// unbounded queues an answer without waiting for room. If the queue far exceeds its
// bound, the peer does not read.
func (c *Conn) unbounded(s *state, m *message) {
	switch {
	case s.done || s.writeErr != nil:
	case len(s.queue)+s.writing >= unreadFactor*c.o.MaxQueue:
		s.writeErr = ErrUnread
	default:
		if err := c.queue(s, m); err != nil { // a defect of settle; the peer still gets an answer
			_ = c.queue(s, &message{ID: m.ID, Error: &Error{Code: CodeInternal, Message: err.Error()}})
		}
	}
}

// queue appends a message to the write queue.
func (c *Conn) queue(s *state, m *message) error {
	b, err := m.encode(c.o.Dialect)
	if err != nil {
		return err
	}
	s.queue = append(s.queue, b...)
	select {
	case c.wake <- struct{}{}:
	default: // a token already wakes the writer
	}
	return nil
}

// write writes the queue, in the largest possible batches.
func (c *Conn) write() {
	var spare []byte
	for {
		var batch []byte
		c.update(func(s *state) {
			if len(s.queue) > 0 {
				batch, s.queue, spare = s.queue, spare, nil
				s.writing = len(batch)
			}
		})
		if len(batch) == 0 {
			select {
			case <-c.wake:
			case <-c.done:
				return
			}
			continue
		}
		_, err := c.o.Out.Write(batch)
		c.update(func(s *state) {
			s.writing = 0
			if err != nil && s.writeErr == nil {
				s.writeErr = fmt.Errorf("cannot write a message: %w", err)
			}
		})
		if cap(batch) <= c.o.MaxQueue { // do not keep the buffer of a burst
			spare = batch[:0]
		}
	}
}
