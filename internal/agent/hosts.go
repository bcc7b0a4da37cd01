package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
)

// Wish is how a client wants a session to work, beside what is configured.
type Wish struct {
	// Dir is the working directory, absolute.
	Dir string
	// Settings are settings by their names (model, base_url, effort, tools …),
	// as if they had been given as flags.
	Settings map[string]string
	// Options, if set, changes what the session's agent is put together from.
	Options func(*Options)
	// By says who wishes it: what the user configured binds a [Client].
	By Author
}

// Hosts are the open sessions of a face whose clients choose how each is to
// work. They share providers.
type Hosts struct {
	// Base is what all sessions have in common; Settings and Dir are the
	// session's own.
	Base Options
	// Settings resolves what is in force in a directory, with what a client
	// gave over it.
	Settings func(dir string, given map[string]string) (*config.Resolved, error)
	// HeldTimeout is how long OpenPatiently waits for another process to let go
	// of a session; 3 s if 0.
	HeldTimeout time.Duration

	shared Shared

	mu     sync.Mutex // guards what follows
	closed bool
	open   map[string]*opening
}

// opening is the place of a session: it is one at a time that opens or closes
// a session.
type opening struct {
	turn    chan struct{} // holds one token while nobody opens or closes it
	session *Opened       // nil while it is not open; belongs to who has the token
}

// ErrOpen says that a session is open already.
var ErrOpen = errors.New("the session is already open")

// Agent puts together what a session that works as wished would use, without
// opening one.
func (h *Hosts) Agent(ctx context.Context, w Wish) (*Agent, error) {
	r, err := h.Settings(w.Dir, w.Settings)
	if err != nil {
		return nil, err
	}
	o := h.Base
	o.Settings, o.Dir, o.Shared = r, w.Dir, &h.shared
	if w.By == Client {
		if o.Ceiling, err = h.Ceiling(w.Dir); err != nil {
			return nil, err
		}
		r.Permission = o.Ceiling.Stricter(r.Permission)
	}
	if log := Log(r); log != nil {
		o.Logger = log
	}
	if w.Options != nil {
		w.Options(&o)
	}
	if err := CheckDirectory(w.Dir, r, o.Getenv); err != nil && o.permission() == settle.Allow {
		return nil, err
	}
	return New(ctx, o)
}

// Ceiling is the permission that the user configured for a directory, which no
// client exceeds; empty if none is.
func (h *Hosts) Ceiling(dir string) (settle.Permission, error) {
	r, err := h.Settings(dir, map[string]string{})
	if err != nil {
		return "", err
	}
	return r.Permission, nil
}

// Open opens the session with the id, or creates it; "" creates one with an id
// of its own. One that is open is returned as it is, with ErrOpen. ctx bounds
// the call.
func (h *Hosts) Open(ctx context.Context, id string, w Wish) (*Opened, error) {
	if id == "" {
		id = settle.NewSessionID()
	}
	place, err := h.take(ctx, id)
	if err != nil {
		return nil, err
	}
	defer func() { place.turn <- struct{}{} }() // never blocks: the token was taken
	switch {
	case place.session == nil:
	case !place.session.Closed():
		return place.session, ErrOpen
	default: // another process took it over; nothing of its host is left to end
		_ = place.session.host.Close(ctx)
	}
	o, err := h.begin(ctx, id, w)
	if err != nil {
		h.forget(id, place)
		return nil, err
	}
	if !h.keep(place, o) {
		return nil, errors.Join(settle.ErrClosed, o.host.Close(context.WithoutCancel(ctx))) // a session bounds its end by itself
	}
	return o, nil
}

// begin opens a session with a host of its own.
func (h *Hosts) begin(ctx context.Context, id string, w Wish) (*Opened, error) {
	a, err := h.Agent(ctx, w)
	if err != nil {
		return nil, err
	}
	host, err := settle.Open(ctx, a.Config)
	if err != nil {
		return nil, err
	}
	s, err := host.Session(ctx, id)
	if err != nil {
		return nil, errors.Join(err, host.Close(ctx))
	}
	return &Opened{Session: s, Agent: a, Wish: w, host: host}, nil
}

// take waits for the place of a session, and for its token.
func (h *Hosts) take(ctx context.Context, id string) (*opening, error) {
	for {
		place, err := h.place(id)
		if err != nil {
			return nil, err
		}
		select {
		case <-place.turn:
		case <-ctx.Done():
			return nil, fmt.Errorf("cannot open session %q: it is being opened or closed: %w", id, context.Cause(ctx))
		}
		if again, err := h.place(id); again == place || err != nil {
			return place, nil // whoever closed the host sees to what is in it
		}
		place.turn <- struct{}{} // never blocks: the token was taken. The session was closed meanwhile
	}
}

func (h *Hosts) place(id string) (*opening, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, settle.ErrClosed
	}
	place := h.open[id]
	if place == nil {
		place = &opening{turn: make(chan struct{}, 1)}
		place.turn <- struct{}{} // never blocks: there is room for it
		if h.open == nil {
			h.open = map[string]*opening{}
		}
		h.open[id] = place
	}
	return place, nil
}

func (h *Hosts) keep(place *opening, o *Opened) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	place.session = o
	return true
}

// Get returns the session if it is open, else nil.
func (h *Hosts) Get(id string) *Opened {
	h.mu.Lock()
	defer h.mu.Unlock()
	if place := h.open[id]; place != nil && place.session != nil && !place.session.Closed() { // else another process took it over
		return place.session
	}
	return nil
}

// Close ends everything of a session and lets go of its log. Of one that is not
// open, it does nothing.
func (h *Hosts) Close(ctx context.Context, id string, reason event.Reason, by string) error {
	if h.Get(id) == nil {
		return nil
	}
	place, err := h.take(ctx, id)
	if err != nil {
		return err
	}
	defer func() { place.turn <- struct{}{} }() // never blocks: the token was taken
	s := place.session
	if s == nil {
		h.forget(id, place)
		return nil
	}
	if err := s.host.CloseFor(ctx, reason, by); ctx.Err() != nil {
		return err // it goes on ending, and stays listed
	} else if h.forget(id, place); err != nil {
		return err
	}
	return nil
}

func (h *Hosts) forget(id string, place *opening) {
	h.mu.Lock()
	defer h.mu.Unlock()
	place.session = nil
	delete(h.open, id)
}

// All returns the sessions that are open, in no order.
func (h *Hosts) All() []*Opened {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []*Opened
	for _, place := range h.open {
		if place.session != nil {
			out = append(out, place.session)
		}
	}
	return out
}

// CloseAll ends everything in every session, in parallel, and returns what did
// not stop before ctx ended. Nothing can be opened any more.
func (h *Hosts) CloseAll(ctx context.Context, reason event.Reason, by string) error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	all := h.All()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for n, s := range all {
		wg.Go(func() { errs[n] = s.host.CloseFor(ctx, reason, by) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
