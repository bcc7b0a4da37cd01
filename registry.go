package settle

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/model"
)

// slot is the place of a session in its host:
//
//	opening ─► open ─► closing ─► removed
//	   └─► failed: removed
//
// Only one call at a time opens a session. All calls that close it wait for the same end.
type slot struct {
	opened  chan struct{} // closed when opening has ended
	session *Session      // nil if opening failed; set, under Host.mu, before opened is closed
	closing bool          // guarded by Host.mu
	// provider is the provider of the session's model, if the host made its limiter; a
	// pointer. Guarded by Host.mu, as is limiter.
	provider model.Provider
	limiter  *model.Limiter
}

// isOpen reports whether the slot has a session that has not ended. The caller holds Host.mu.
func (p *slot) isOpen() bool {
	return p != nil && p.session != nil && !p.session.actor.ClosedIdle() && !p.session.Closed()
}

// hasOpenParent reports whether the session is a child whose parent has not ended. The caller
// holds Host.mu.
func (p *slot) hasOpenParent() bool {
	return p.session != nil && p.session.origin != nil && !p.session.origin.parent.Closed()
}

// NewSessionID returns an id for a session. Ids sort by the time at which they were made.
func NewSessionID() string { return session.NewID() }

// slot returns the session's slot. If isNew, the caller must open the session.
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

// openInto opens the session. Other sessions do not wait for it: its log may be long, or
// another process may have it open.
func (h *Host) openInto(
	ctx context.Context, id string, p *slot, c SessionConfig, from *origin,
) (s *Session, err error) {
	defer func() { // also if a toolbox panics
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

// store puts the session into its slot, unless the host is closed.
func (h *Host) store(p *slot, s *Session) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.Err() != nil {
		return false
	}
	p.session = s
	return true
}

// await returns the slot's session when it is open, or nil if the slot was removed and the
// caller must try again.
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
	return nil, nil // the caller looks again
}

func (h *Host) isClosing(p *slot) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return p.closing || !p.isOpen()
}

// forget removes the slot. The caller holds mu. After the last session, the control socket is
// closed.
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

// close closes the slot's session when it is open.
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

// markClosing marks that the session is being closed, so that later calls of Session wait and
// open it again. While the host is being closed, the session stays available until its end.
func (h *Host) markClosing(s *Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.slots[s.id]; p != nil && p.session == s && h.life.Err() == nil {
		p.closing = true
	}
}

// forgetSession removes the slot of a session that has ended.
func (h *Host) forgetSession(s *Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.slots[s.id]; p != nil && p.session == s {
		h.forget(s.id, p)
	}
}

// limited returns the model with the limiters of the host, also for its fallback.
func (h *Host) limited(id string, m model.Config) model.Config {
	m.Limiter = h.limiter(id, m)
	if m.Fallback != nil {
		f := h.limited(id, *m.Fallback)
		m.Fallback, m.Secrets = &f, slices.Concat(m.Secrets, f.Secrets) // C15
	}
	return m
}

// limiter returns the limiter for a model without one. Sessions with the same provider share a
// limiter, so that all wait if the provider asks one of them to wait.
func (h *Host) limiter(id string, m model.Config) *model.Limiter {
	if m.Limiter != nil {
		return m.Limiter
	}
	if reflect.TypeOf(m.Provider).Kind() != reflect.Pointer {
		return &model.Limiter{} // the provider may have no identity
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
