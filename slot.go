package settle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/settle-agent/settle/event"
)

// slot is the place of a session in its host:
//
//	opening ─► open ─► closing ─► gone
//	   └─► failed: gone
type slot struct {
	opened  chan struct{} // closed when the opening is over
	session *Session      // nil if that failed; set before opened is closed
	closing bool          // guarded by Host.mu
}

// Session opens the session with the id, or creates it; "" creates one with an
// id of its own. A session that is open already is returned as it is; one that
// is being closed is opened again after that. ctx bounds the call.
func (h *Host) Session(ctx context.Context, id string) (*Session, error) {
	if id == "" {
		id = NewSessionID()
	}
	for {
		p, fresh, err := h.slot(id)
		if err != nil {
			return nil, err
		}
		if fresh {
			return h.fill(ctx, id, p)
		}
		if s, err := h.await(ctx, id, p); s != nil || err != nil {
			return s, err
		}
	}
}

// Sessions returns the sessions that are open, in no order.
func (h *Host) Sessions() []*Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]*Session, 0, len(h.slots))
	for _, p := range h.slots {
		if p.session != nil && !p.closing && !p.session.actor.Left() {
			out = append(out, p.session)
		}
	}
	return out
}

// NewSessionID returns an id for a session; ids sort by the time they were made.
func NewSessionID() string {
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.NewString() // only where the system has no randomness for v7's
	}
	return id.String()
}

// slot returns the session's slot; a fresh one is the caller's to fill.
func (h *Host) slot(id string) (p *slot, fresh bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.Err() != nil {
		return nil, false, ErrClosed
	}
	if p = h.slots[id]; p == nil {
		p, fresh = &slot{opened: make(chan struct{})}, true
		h.slots[id] = p
	}
	return p, fresh, nil
}

// fill opens the session. Nothing else of the host waits for that: a log may
// be long, or held by another process.
func (h *Host) fill(ctx context.Context, id string, p *slot) (s *Session, err error) {
	defer func() { // also where a toolbox panics
		h.mu.Lock()
		defer h.mu.Unlock()
		if p.session == nil {
			h.forget(id, p)
		}
		close(p.opened)
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.life, func() { cancel(ErrClosed) })()
	if s, err = h.open(ctx, id); err != nil {
		return nil, err
	}
	if !h.keep(p, s) {
		return nil, errors.Join(ErrClosed, s.actor.Close(context.WithoutCancel(ctx), event.Shutdown, "host"))
	}
	return s, nil
}

// keep puts the session into its slot, unless the host is closed.
func (h *Host) keep(p *slot, s *Session) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.Err() != nil {
		return false
	}
	p.session = s
	return true
}

// await returns the slot's session when it is open, or nothing when the slot
// is gone and another is to be had.
func (h *Host) await(ctx context.Context, id string, p *slot) (*Session, error) {
	select {
	case <-p.opened:
	case <-ctx.Done():
		return nil, fmt.Errorf("cannot open session %q: it is being opened: %w", id, context.Cause(ctx))
	}
	if p.session == nil || !h.leaves(p) {
		return p.session, nil
	}
	select {
	case <-p.session.actor.Done():
	case <-ctx.Done():
		return nil, fmt.Errorf("cannot open session %q: it is being closed: %w", id, context.Cause(ctx))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget(id, p)
	return nil, nil //nolint:nilnil // the caller looks again
}

func (h *Host) leaves(p *slot) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return p.closing || p.session.actor.Left()
}

// forget empties the slot. The caller holds mu.
func (h *Host) forget(id string, p *slot) {
	if h.slots[id] == p {
		delete(h.slots, id)
	}
}

// CloseIdle closes the session if nothing of it runs or waits to run and nothing
// has happened in it since then, and reports whether it did. It may be opened
// again like any other.
func (s *Session) CloseIdle(ctx context.Context, since time.Time) (bool, error) {
	closed, err := s.actor.CloseIdle(ctx, since)
	if closed {
		s.host.drop(s)
	}
	return closed, err
}

// drop empties the slot of a session that has ended.
func (h *Host) drop(s *Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.slots[s.id]; p != nil && p.session == s {
		h.forget(s.id, p)
	}
}

// closeSession closes one session of the host.
func (h *Host) closeSession(ctx context.Context, s *Session, reason event.Reason, by string) error {
	h.mu.Lock()
	p := h.slots[s.id]
	if p != nil && p.session == s {
		p.closing = true
	}
	h.mu.Unlock()
	err := s.actor.Close(ctx, reason, by)
	select {
	case <-s.actor.Done():
	case <-ctx.Done():
		return err // whoever opens it again empties the slot
	}
	h.drop(s)
	return err
}

// Close ends everything in every session, in parallel, and returns what did
// not stop before ctx ended, by name. It may be called again, to wait longer.
func (h *Host) Close(ctx context.Context) error {
	return h.CloseFor(ctx, event.Shutdown, "host")
}

// CloseFor is Close with the reason that the turns' endings will give, and by
// whom.
func (h *Host) CloseFor(ctx context.Context, reason event.Reason, by string) error {
	h.mu.Lock()
	h.end(ErrClosed)
	var errs []error
	var mu sync.Mutex // guards errs
	var wg sync.WaitGroup
	for id, p := range h.slots {
		wg.Go(func() {
			err := p.close(ctx, id, reason, by)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	h.mu.Unlock()
	wg.Wait()
	h.deafen()
	return errors.Join(errs...)
}

// close closes the slot's session, if it comes to be open.
func (p *slot) close(ctx context.Context, id string, reason event.Reason, by string) error {
	select {
	case <-p.opened:
	case <-ctx.Done():
		return fmt.Errorf("cannot close session %s in time: it is being opened: %w", id, context.Cause(ctx))
	}
	if p.session == nil {
		return nil
	}
	return p.session.actor.Close(ctx, reason, by)
}
