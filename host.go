package settle

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"weak"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/hostsocket"
	"github.com/settle-agent/settle/internal/redact"
)

// Host has the sessions of a program. Each session has its own model, directory and policy;
// [Config] has their common settings.
type Host struct {
	config Config

	// life ends when the host is closed.
	life   context.Context // it is the host's own, no request's
	cancel context.CancelCauseFunc

	control *hostsocket.Server // open while a session is open; nil if the host is not Releasable

	mu        sync.Mutex // guards the fields below
	slots     map[string]*slot
	redactors map[[sha256.Size]byte]weak.Pointer[redact.Redactor] // of sessions, by the digest of their first secrets
}

// Open returns a Host. The caller closes it.
func Open(_ context.Context, c Config) (*Host, error) {
	if c.Frontend == "" {
		c.Frontend = event.FrontendLibrary
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.DataDir != "" {
		dir, err := filepath.Abs(c.DataDir) // the program may change its working directory
		if err != nil {
			return nil, fmt.Errorf("cannot find the data directory: %w", err)
		}
		if err := disk.CheckOwned(dir); err != nil {
			return nil, fmt.Errorf("cannot use the data directory: %w", err)
		}
		c.DataDir = dir
	}
	h := &Host{config: c, slots: map[string]*slot{}, redactors: map[[sha256.Size]byte]weak.Pointer[redact.Redactor]{}}
	h.life, h.cancel = context.WithCancelCause(context.Background())
	h.control = h.newControl()
	return h, nil
}

// Session opens or creates the session with the id; "" creates one with a new id. If the
// session is already open, Session returns it and ignores c. If the session is being closed,
// Session opens it again afterwards. ctx bounds the call. If the session cannot be opened, the
// error is a [*LockedError], a [*NewerError], a [*DamagedError] or a [*MissingError].
func (h *Host) Session(ctx context.Context, id string, c SessionConfig) (*Session, error) {
	return h.session(ctx, id, c, nil)
}

// session opens a session. A child agent's session has an origin.
func (h *Host) session(ctx context.Context, id string, c SessionConfig, from *origin) (*Session, error) {
	if id == "" {
		id = NewSessionID()
	}
	for {
		p, isNew, err := h.slot(id)
		if err != nil {
			return nil, err
		}
		if isNew {
			return h.openInto(ctx, id, p, c, from)
		}
		if s, err := h.await(ctx, id, p); s != nil || err != nil {
			return s, err
		}
	}
}

// Get returns the session with the id if it is open, else nil. It does not wait.
func (h *Host) Get(id string) *Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.slots[id]; p.isOpen() && !p.closing {
		return p.session
	}
	return nil
}

// Lookup returns the session with the id if it is open, else nil; it opens nothing. If the
// session is being opened or closed, Lookup waits until ctx ends.
func (h *Host) Lookup(ctx context.Context, id string) (*Session, error) {
	h.mu.Lock()
	p := h.slots[id]
	h.mu.Unlock()
	if p == nil {
		return nil, nil // there is none, and that is no error
	}
	return h.await(ctx, id, p)
}

// Sessions returns the open sessions in no order, including sessions that are being closed.
func (h *Host) Sessions() []*Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]*Session, 0, len(h.slots))
	for _, p := range h.slots {
		if p.isOpen() {
			out = append(out, p.session)
		}
	}
	return out
}

// maxCloseErrors is the number of sessions whose error Close names; it counts the others.
const maxCloseErrors = 20

// Close ends all sessions in parallel. If something does not stop before ctx ends, the error
// names it; call Close again to wait longer. No session can be opened after Close.
func (h *Host) Close(ctx context.Context) error {
	return h.CloseFor(ctx, event.Shutdown, "host")
}

// CloseFor is Close with the reason and the client that the endings of turns state.
func (h *Host) CloseFor(ctx context.Context, reason event.Reason, by string) error {
	h.mu.Lock()
	h.cancel(ErrClosed)
	var errs []error
	unnamed := 0
	var mu sync.Mutex // guards errs and unnamed
	var wg sync.WaitGroup
	for id, p := range h.slots {
		if p.hasOpenParent() { // the parent ends the child and records that
			continue
		}
		wg.Go(func() {
			err := p.close(ctx, id, reason, by)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
			case len(errs) < maxCloseErrors:
				errs = append(errs, err)
			default:
				unnamed++
			}
		})
	}
	h.mu.Unlock()
	wg.Wait()
	h.closeControlSocket()
	if unnamed > 0 {
		errs = append(errs, fmt.Errorf("cannot close %d more sessions", unnamed))
	}
	return errors.Join(errs...)
}
