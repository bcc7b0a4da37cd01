package conversation

import (
	"context"
	"maps"
	"net"
	"sync/atomic"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/attach"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/tui"
	"github.com/settle-agent/settle/internal/redact"
)

// HostSpec has the options with which a host opens or creates a session.
type HostSpec struct {
	// ID is the session's; empty for a new one.
	ID string `json:"session"`
	// Before has the modes that the session had when it was open before; empty for others.
	Before Modes `json:"before,omitzero"`
	// Plan has the session begin in plan mode.
	Plan bool `json:"plan,omitempty"`
	// Copy means that no mode looser than the configured one is kept: the session is a copy, or
	// another process has had it since. Source has the modes of the original.
	Copy   bool  `json:"copy,omitempty"`
	Source Modes `json:"source,omitzero"`
	// Worktree is the name of the git worktree of a new session, which can be ""; nil for none.
	Worktree *string `json:"worktree,omitempty"`
	// Outside has the session work in the terminal's directory, not in its git worktree.
	Outside bool `json:"outside,omitempty"`
	// Settings were chosen for the session in the terminal, such as the model.
	Settings map[string]string `json:"settings,omitempty"`
	// Like is the session whose model a new session begins with; empty for none.
	Like string `json:"like,omitempty"`
}

// Modes are the names of a session's mode, and of the mode in which the work on a plan begins.
type Modes struct {
	Mode string `json:"mode,omitempty"`
	Work string `json:"work,omitempty"`
}

func modesOf(p *assemble.Policy) Modes { return Modes{p.Mode().Name, p.Work().Name} }

// policy returns a policy in the modes; false if there is no mode of that name. Without a known mode
// for the work on a plan, the work begins in the mode otherwise.
func (m Modes) policy(otherwise assemble.Mode) (*assemble.Policy, bool) {
	mode, err := assemble.ModeNamed(m.Mode)
	if err != nil {
		return nil, false
	}
	policy := assemble.NewPolicy(mode)
	if !mode.Plan {
		return policy, true
	}
	work, err := assemble.ModeNamed(m.Work)
	if err != nil {
		work = otherwise
	}
	policy.SetWork(work)
	return policy, true
}

// Policy returns the policy of the session, which keeps the modes that it had before. A copy takes
// over plan mode, and a mode that is stricter than the configured one, from its source, but no
// looser mode: a person allows that in one session.
func (h HostSpec) Policy(configured assemble.Mode) *assemble.Policy {
	source, isKnown := h.Source.policy(configured)
	switch before, ok := h.Before.policy(configured); {
	case ok && !h.Copy:
		return before
	case isKnown && h.Copy:
		policy := assemble.CopiedPolicy(configured, source)
		if h.Plan {
			policy.Set(assemble.PlanMode())
		}
		return policy
	case h.Plan || h.Copy: // a source of an unknown mode allows nothing
		return assemble.NewPlanPolicy(configured)
	}
	return assemble.NewPolicy(configured)
}

// Session returns the session in the working directory, with its policy.
func (h HostSpec) Session(dir string, policy *assemble.Policy) assemble.SessionSpec {
	settings := map[string]string{}
	maps.Copy(settings, h.Settings)
	return assemble.SessionSpec{
		Dir: dir, By: assemble.User, Settings: settings, Options: func(o *assemble.Options) { o.Policy = policy },
		Worktree: h.Worktree, OutsideWorktree: h.Outside, Like: h.Like,
	}
}

// HostProcess is a process that hosts one session for this terminal.
type HostProcess struct {
	Conn  net.Conn        // which only the two processes have
	Ended <-chan struct{} // closed at the end of the process
}

// StartHost starts a host process, which has opened the session when StartHost returns. The error
// is a [*StartError] if the process could not be started; other errors are about the session.
type StartHost func(ctx context.Context, spec HostSpec) (*HostProcess, error)

// StartError: no host process could be started.
type StartError struct{ Err error }

func (e *StartError) Error() string {
	return "cannot start a host process for the session: " + e.Err.Error()
}
func (e *StartError) Unwrap() error { return e.Err }

// Hosts has each session run in a host process of its own, which start starts.
func (s *Sessions) Hosts(start StartHost) *Sessions {
	s.start = start
	return s
}

// own is a session in a host process that this terminal has started.
type own struct {
	*attached
	process  *HostProcess
	detached atomic.Bool
}

// openOwn opens a session in a host process of its own.
func (s *Sessions) openOwn(ctx context.Context, id string, spec HostSpec, r *config.Resolved) (*own, error) {
	if id == "" {
		spec.ID = settle.NewSessionID()
	}
	process, err := s.start(ctx, spec)
	if err != nil {
		return nil, err
	}
	client, err := attach.OpenOwned(ctx, s.dataDir, spec.ID, process.Conn)
	if err != nil {
		return nil, err // the process ends with its connection
	}
	o := &own{attached: newAttached(client), process: process}
	s.setRedactor(redact.New(r.Secrets()...))
	o.chose = func(setting, value string) { s.chose(o.ID(), setting, value) }
	s.keep(o.ID(), known{modes: o.modes, chosen: spec.Settings})
	return o, nil
}

// Host implements [tui.AttachedConversation]: before it is detached, the host belongs to this
// terminal.
func (o *own) Host() string {
	if o.detached.Load() {
		return o.Process()
	}
	return ""
}

// Process implements [tui.HostedConversation].
func (o *own) Process() string { return o.attached.Host() }

// SetMode implements [tui.Conversation].
func (o *own) SetMode(ctx context.Context, name string) error { return o.Session.SetMode(ctx, name) }

// Detach implements [tui.HostedConversation].
func (o *own) Detach(ctx context.Context) error {
	err := o.Session.Detach(ctx)
	if err == nil {
		o.detached.Store(true)
	}
	return err
}

// end ends the session and its process, unless it was detached.
func (o *own) end(ctx context.Context, reason event.Reason, by string) error {
	if o.detached.Load() {
		o.leave()
		return nil
	}
	err := o.End(ctx, reason, by)
	select {
	case <-o.process.Ended: // so that the terminal leaves no process behind
	case <-ctx.Done():
	}
	o.lookups.Wait()
	return err
}

var (
	_ tui.HostedConversation = (*own)(nil)
	_ tui.Expander           = (*own)(nil)
	_ tui.Ruled              = (*own)(nil)
)
