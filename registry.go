package settle

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/model"
)

// place is the place of a session in its host:
//
//	opening ─► open ─► closing ─► gone
//	   └─► failed: gone
//
// One call at a time opens a session; everybody who closes it waits for the
// same end.
type slot struct {
	opened  chan struct{} // closed when the opening is over
	session *Session      // nil if that failed; set, under Host.mu, before opened is closed
	closing bool          // guarded by Host.mu
	// provider is that of the session's model, and a pointer, if the host gave
	// it its limiter; guarded by Host.mu.
	provider model.Provider
	limiter  *model.Limiter
}

// isOpen reports whether there is a session that has not ended. The caller
// holds Host.mu.
func (p *slot) isOpen() bool {
	return p != nil && p.session != nil && !p.session.actor.ClosedIdle() && !p.session.Closed()
}

// ofOpen reports whether the session is the child of one that has not ended. The
// caller holds Host.mu.
func (p *slot) hasOpenParent() bool {
	return p.session != nil && p.session.origin != nil && !p.session.origin.parent.Closed()
}

// NewSessionID returns an id for a session. Ids sort by the time at which they were made.
func NewSessionID() string { return session.NewID() }

// place returns the session's place; a new one is the caller's to fill.
func (h *Host) slot(id string) (p *slot, isNew bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.Err() != nil {
		return nil, false, ErrClosed
	}
	if p = h.slots[id]; p == nil {
		p, isNew = &slot{opened: make(chan struct{})}, true
		h.slots[id] = p
	}
	return p, isNew, nil
}

// fill opens the session. Nothing else of the host waits for that: a log may
// be long, or held by another process.
func (h *Host) openInto(ctx context.Context, id string, p *slot, c SessionConfig, from *origin) (s *Session, err error) {
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
	if s, err = h.open(ctx, id, c, from); err != nil {
		return nil, err
	}
	if !h.store(p, s) {
		return nil, errors.Join(ErrClosed, s.actor.Close(context.WithoutCancel(ctx), event.Shutdown, "host"))
	}
	return s, nil
}

// keep puts the session into its place, unless the host is closed.
func (h *Host) store(p *slot, s *Session) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.Err() != nil {
		return false
	}
	p.session = s
	return true
}

// await returns the place's session when it is open, or nothing when the place
// is gone and another is to be had.
func (h *Host) await(ctx context.Context, id string, p *slot) (*Session, error) {
	select {
	case <-p.opened:
	case <-ctx.Done():
		return nil, fmt.Errorf("cannot open session %q: it is being opened: %w", id, context.Cause(ctx))
	}
	if p.session == nil || !h.isClosing(p) {
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

func (h *Host) isClosing(p *slot) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return p.closing || !p.isOpen()
}

// forget empties the place. The caller holds mu. With the last session, there is
// nothing left to ask for.
func (h *Host) forget(id string, p *slot) {
	if h.slots[id] == p {
		delete(h.slots, id)
	}
	if len(h.slots) > 0 || h.control == nil {
		return
	}
	if err := h.control.StopListening(); err != nil {
		h.config.Logger.Debug("cannot stop listening for those who ask for a session", "error", err)
	}
}

// close closes the place's session, if it comes to be open.
func (p *slot) close(ctx context.Context, id string, reason event.Reason, by string) error {
	select {
	case <-p.opened:
	case <-ctx.Done():
		return fmt.Errorf("cannot close session %s in time: it is being opened: %w", id, context.Cause(ctx))
	}
	if p.session == nil {
		return nil
	}
	return p.session.CloseFor(ctx, reason, by)
}

// leave notes that the session is being closed: who asks for it from now on
// waits for that, and opens it again. Where the whole host is closed, there is
// no again, and the session can be had until its end.
func (h *Host) markClosing(s *Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.slots[s.id]; p != nil && p.session == s && h.life.Err() == nil {
		p.closing = true
	}
}

// drop empties the place of a session that has ended.
func (h *Host) forgetSession(s *Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.slots[s.id]; p != nil && p.session == s {
		h.forget(s.id, p)
	}
}

// limiter returns the limiter of a session's model that has none of its own:
// that of the sessions with the same provider, so that all wait when one of
// them is told to.
func (h *Host) limiter(id string, m model.Config) *model.Limiter {
	if m.Limiter != nil {
		return m.Limiter
	}
	if reflect.TypeOf(m.Provider).Kind() != reflect.Pointer {
		return &model.Limiter{} // it may have no identity
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	limiter := &model.Limiter{}
	for _, p := range h.slots {
		if p.provider == m.Provider {
			limiter = p.limiter
			break
		}
	}
	if p := h.slots[id]; p != nil {
		p.provider, p.limiter = m.Provider, limiter
	}
	return limiter
}
