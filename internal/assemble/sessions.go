package assemble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
)

// SessionSpec has a client's settings for a session.
type SessionSpec struct {
	// Dir is the absolute working directory.
	Dir string
	// Settings are settings by name (model, base_url, effort, tools …), with the precedence
	// of flags.
	Settings map[string]string
	// Chosen are the settings that were chosen for the session earlier. If they cannot be used, Open
	// returns a [*ChosenError] and opens nothing.
	Chosen map[string]string
	// Options, if set, changes the options of the session's agent.
	Options func(*Options)
	// By is the author of the settings: the user's configuration binds a [Client].
	By Author
	// Agent, if set, is used instead of a new agent, unless the session has a git worktree. Its settings
	// are kept for the session by [Opened.KeepStarted], not by Open.
	Agent *Agent
	// Worktree, if set, has a new session work in a git worktree of its own, with this name or
	// "". A session that has one opens it again.
	Worktree *string
	// OutsideWorktree has a session that continues work in Dir, not in its git worktree.
	OutsideWorktree bool
	// Like is the session whose model, server and effort a new session begins with; empty for none.
	Like string
}

// recorded returns the git worktree that the session opens again; nil for none.
func (s SessionSpec) recorded(dataDir, session string) *event.Worktree {
	if s.OutsideWorktree {
		return nil
	}
	return RecordedWorktree(dataDir, session)
}

// Sessions opens the sessions of a frontend whose clients choose settings for each. They
// are in one [settle.Host], and share providers.
type Sessions struct {
	// Base has the common options; Settings and Dir differ for each session.
	Base Options
	// Settings resolves the configuration of a directory with a client's settings.
	Settings func(dir string, given map[string]string) (*config.Resolved, error)
	// LockTimeout bounds Open's wait for another process to release a session; 3 s if 0. A
	// restarted client can be faster than the end of its earlier process.
	LockTimeout time.Duration
	// OpenHost, if set, opens the host instead of [settle.Open].
	OpenHost func(context.Context, settle.Config) (*settle.Host, error)

	shared Shared

	mu     sync.Mutex // guards the fields below, and the Session of each Opened
	closed bool
	host   *settle.Host // nil before the first session
	dir    string       // its data directory
}

// DefaultLockTimeout bounds a frontend's wait for another process to release a session.
const DefaultLockTimeout = 3 * time.Second

// ErrOpen: the session is already open.
var ErrOpen = errors.New("the session is already open")

// Agent builds the agent of a session with the spec, without opening the session.
func (h *Sessions) Agent(ctx context.Context, spec SessionSpec) (*Agent, error) {
	return h.agent(ctx, "", &spec)
}

// agent builds the agent of the session with the id, and adds the session's start options to the
// spec; "" is a new session.
func (h *Sessions) agent(ctx context.Context, id string, spec *SessionSpec) (*Agent, error) {
	r, err := h.Settings(spec.Dir, spec.Settings)
	if err != nil {
		return nil, err
	}
	recorded := spec.recorded(r.DataDir, id)
	if recorded != nil && recorded.From != spec.Dir {
		spec.Dir = recorded.From
		if r, err = h.Settings(spec.Dir, spec.Settings); err != nil {
			return nil, err
		}
	}
	load := func(given map[string]string) (*config.Resolved, error) { return h.Settings(spec.Dir, given) }
	if r, spec.Settings, err = r.Continue(cmp.Or(spec.Like, id), spec.Settings, load); err != nil {
		return nil, err
	}
	o, err := h.options(*spec, r)
	if err != nil {
		return nil, err
	}
	if err := CheckDirectory(spec.Dir, o.Settings, o.Getenv); err != nil && o.permission() == settle.Allow {
		return nil, err
	}
	return o.NewInWorktree(ctx, id, recorded, spec.Worktree)
}

// options returns the options of an agent with the spec, whose settings are r.
func (h *Sessions) options(spec SessionSpec, r *config.Resolved) (o Options, err error) {
	o = h.Base
	o.Settings, o.Dir, o.Shared, o.Resolve, o.Given = r, spec.Dir, &h.shared, h.Settings, spec.Settings
	if spec.By == Client {
		if o.Ceiling, err = h.Ceiling(spec.Dir); err != nil {
			return Options{}, err
		}
		r.Permission = o.Ceiling.Stricter(r.Permission)
	}
	if log := Log(r); log != nil {
		o.Logger = log
	}
	if spec.Options != nil {
		spec.Options(&o)
	}
	return o, nil
}

// Ceiling is the permission that the user configured for a directory, which no client
// exceeds; empty for none.
func (h *Sessions) Ceiling(dir string) (settle.Permission, error) {
	r, err := h.Settings(dir, map[string]string{})
	if err != nil {
		return "", err
	}
	return r.Permission, nil
}

// Open opens the session with the id, or creates it; "" creates one with a new id. If the
// session is already open, Open returns it with ErrOpen. ctx bounds the call.
func (h *Sessions) Open(ctx context.Context, id string, spec SessionSpec) (*Opened, error) {
	if o := h.Get(id); o != nil {
		return o, ErrOpen
	}
	if id == "" && spec.Worktree != nil {
		id = settle.NewSessionID()
	}
	a, err := spec.Agent, error(nil)
	if a == nil || spec.recorded(a.Host.DataDir, id) != nil {
		a, err = h.agent(ctx, id, &spec)
	}
	if err != nil {
		return nil, err
	}
	o, err := h.openChosen(ctx, id, spec, a)
	if w := a.Session.Worktree; w != nil && err != nil {
		w.Leave(context.WithoutCancel(ctx)) // it does nothing if the session has done it
	}
	return o, err
}

// openChosen opens a session with its agent and the settings that were chosen for it.
func (h *Sessions) openChosen(ctx context.Context, id string, spec SessionSpec, a *Agent) (*Opened, error) {
	if len(spec.Chosen) == 0 {
		return h.openWith(ctx, id, spec, a)
	}
	c, err := h.chosenModel(ctx, spec, a.Session.Model.ProviderName)
	if err != nil {
		return nil, &ChosenError{err}
	}
	spec.Chosen = nil
	o, err := h.openWith(ctx, id, spec, a)
	if err != nil {
		return o, err
	}
	return o, o.use(ctx, c)
}

// openWith opens a session with its agent.
func (h *Sessions) openWith(ctx context.Context, id string, spec SessionSpec, a *Agent) (*Opened, error) {
	host, err := h.in(ctx, a.Host)
	if err != nil {
		return nil, err
	}
	o := &Opened{Agent: a, Spec: spec, sessions: h}
	c := a.Session
	c.Value = o
	if c.Tasks != nil {
		c.Tasks.Configure = func(child settle.SessionConfig) settle.SessionConfig {
			child.Value = &Opened{Agent: a, Spec: spec}
			return child
		}
	}
	c.LockTimeout = cmp.Or(h.LockTimeout, c.LockTimeout)
	s, err := host.Session(ctx, id, c)
	if err != nil {
		return nil, err
	}
	if got := h.opened(s); got != o {
		return got, ErrOpen
	}
	if spec.Agent != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.unkept = true
		return o, nil
	}
	if err := a.KeepStarted(s.ID()); err != nil {
		a.note(err.Error())
	}
	return o, nil
}

// Use opens later sessions in an existing host with this data directory. The caller closes
// the host.
func (h *Sessions) Use(host *settle.Host, dataDir string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.host, h.dir = host, dataDir
}

// in returns the host, and opens it if necessary.
func (h *Sessions) in(ctx context.Context, c settle.Config) (*settle.Host, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, settle.ErrClosed
	case h.host == nil:
		open := h.OpenHost
		if open == nil {
			open = settle.Open
		}
		host, err := open(ctx, c)
		if err != nil {
			return nil, err
		}
		h.host, h.dir = host, c.DataDir
	case h.dir != c.DataDir:
		return nil, fmt.Errorf(
			"cannot open a session in the data directory %q: the sessions of this program are in %q", c.DataDir, h.dir,
		)
	}
	return h.host, nil
}

// opened returns the Opened of a session.
func (h *Sessions) opened(s *settle.Session) *Opened {
	h.mu.Lock()
	defer h.mu.Unlock()
	o, _ := s.Value().(*Opened) // Open sets no other type
	if o.Session == nil {
		o.Session = s
	}
	return o
}

// current returns the host; nil before the first session.
func (h *Sessions) current() *settle.Host {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.host
}

// Get returns an open session, else nil.
func (h *Sessions) Get(id string) *Opened {
	host := h.current()
	if host == nil {
		return nil
	}
	if s := host.Get(id); s != nil {
		return h.opened(s)
	}
	return nil
}

// Close ends all processes of a session and releases its log. It does nothing for a session
// that is not open.
func (h *Sessions) Close(ctx context.Context, id string, reason event.Reason, by string) error {
	host := h.current()
	if host == nil {
		return nil
	}
	s, err := host.Lookup(ctx, id)
	if s == nil || err != nil {
		return err
	}
	return s.CloseFor(ctx, reason, by)
}

// All returns the open sessions in no order, including closing ones.
func (h *Sessions) All() []*Opened {
	host := h.current()
	if host == nil {
		return nil
	}
	var out []*Opened
	for _, s := range host.Sessions() {
		out = append(out, h.opened(s))
	}
	return out
}

// CloseAll closes all sessions in parallel, and returns an error that names the turns and processes
// that did not end before ctx. No session can be opened afterwards.
func (h *Sessions) CloseAll(ctx context.Context, reason event.Reason, by string) error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	host := h.current()
	if host == nil {
		return nil
	}
	return host.CloseFor(ctx, reason, by)
}
