package conversation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/attach"
	"github.com/settle-agent/settle/internal/client/rewind"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/tui"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/terminal"
)

const (
	// maxSessions bounds how many sessions List returns.
	maxSessions = 200
	// maxPreviewTurns bounds how many of the last turns a preview shows.
	maxPreviewTurns = 3
)

// Sessions are the sessions of a directory, for a terminal.
type Sessions struct {
	hosts        *assemble.Sessions
	dir, dataDir string
	take         bool      // take a session over that another process hosts
	plans        bool      // sessions begin in plan mode
	outside      string    // the session that works outside of its git worktree
	start        StartHost // nil if this process hosts the sessions

	mu       sync.Mutex        // guards the fields below
	known    map[string]known  // the sessions that were opened for this terminal
	copies   map[string]source // of copies that were not opened
	latest   string            // the session that was opened last; empty for none
	worktree *string           // name of the git worktree of the next new session; nil for none
	redactor *redact.Redactor
}

// known is what is known of a session, for copies and for its next opening.
type known struct {
	modes   func() Modes
	policy  *assemble.Policy  // nil if another process hosts the session
	foreign bool              // that process belongs to another terminal or server
	chosen  map[string]string // settings that were chosen for it in this terminal: the model, the effort
}

// source is what a copy takes over from the session that was copied.
type source struct {
	policy *assemble.Policy // nil if the copy's log decides
	chosen map[string]string
}

// Worktrees has each new session work in a git worktree of its own. The first one gets the
// name, which can be ""; nil means no worktrees.
func (s *Sessions) Worktrees(name *string) *Sessions {
	s.worktree = name
	return s
}

// OutsideWorktree has the session with the id work in the terminal's directory, not in its git
// worktree.
func (s *Sessions) OutsideWorktree(id string) { s.outside = id }

// nextWorktree returns the name of the worktree for the session with the id.
func (s *Sessions) nextWorktree(id string) *string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id != "" || s.worktree == nil {
		return nil
	}
	name := *s.worktree
	s.worktree = new(string)
	return &name
}

// New returns the sessions of dir, whose logs are in dataDir. With take, Open takes a
// session over from the process that hosts it, instead of attaching to that process. With plans,
// sessions begin in plan mode.
func New(hosts *assemble.Sessions, dir, dataDir string, take, plans bool) *Sessions {
	return &Sessions{hosts: hosts, dir: dir, dataDir: dataDir, take: take, plans: plans}
}

// Open implements [tui.Sessions].
func (s *Sessions) Open(ctx context.Context, id string) (tui.Conversation, error) {
	resolved, err := s.hosts.Settings(s.dir, nil)
	if err != nil {
		return nil, err
	}
	if id != "" && !s.take {
		if client, err := attach.Open(ctx, s.dataDir, id); err == nil {
			if s.plans {
				if err := client.Tighten(ctx, assemble.PlanMode().Name); err != nil {
					_ = client.Close()
					return nil, fmt.Errorf("cannot attach in plan mode to session %s: %w; leave out --plan to "+
						"attach to it as it is", id, err)
				}
			}
			s.setRedactor(redact.New(resolved.Secrets()...))
			c := newAttached(client)
			c.chose = func(setting, value string) { s.chose(id, setting, value) }
			s.keep(id, known{modes: c.modes, foreign: true, chosen: s.chosenFor(id)})
			return c, nil
		}
	}
	spec := s.spec(id)
	if s.start == nil {
		return s.openHere(ctx, id, spec, resolved)
	}
	c, err := s.openOwn(ctx, id, spec, resolved)
	failed, ok := errors.AsType[*StartError](err)
	switch {
	case err == nil:
		return c, nil
	case !ok:
		return nil, err
	}
	here, err := s.openHere(ctx, id, spec, resolved)
	if err != nil {
		return nil, err
	}
	here.note = failed.Error() + "; the terminal's own process hosts it instead, and /detach is not possible"
	return here, nil
}

// openHere opens a session in this process.
func (s *Sessions) openHere(ctx context.Context, id string, spec HostSpec, r *config.Resolved) (*local, error) {
	policy := s.policy(id, spec, assemble.Begins(r.Settings, event.Ask))
	opened, err := s.hosts.Open(ctx, id, spec.Session(s.dir, policy))
	if err != nil {
		return nil, err
	}
	s.setRedactor(opened.Agent.Redact)
	s.keep(opened.ID(), known{
		modes: func() Modes { return modesOf(policy) }, policy: policy, chosen: spec.Settings,
	})
	return &local{
		Opened: opened, policy: policy,
		chose: func(setting, value string) { s.chose(opened.ID(), setting, value) },
	}, nil
}

// spec returns how a session is opened. A session that was open here keeps its mode, and what was
// chosen for it. For other sessions, the log has whether plan mode is on. A new session begins with
// the model of the session before.
func (s *Sessions) spec(id string) HostSpec {
	spec := HostSpec{
		ID: id, Worktree: s.nextWorktree(id), Outside: id != "" && id == s.outside, Settings: s.chosenFor(id),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "" {
		spec.Like = s.latest
	}
	if source := s.copies[id].policy; source != nil {
		spec.Copy, spec.Source = true, modesOf(source)
		return spec
	}
	before, isKnown := s.known[id]
	if isKnown && !before.foreign {
		spec.Before = before.modes()
		return spec
	}
	spec.Plan = s.plans || assemble.PlanModeIn(s.dataDir, id)
	if isKnown { // its host, which could be looser, is gone
		spec.Source = before.modes()
		_, err := assemble.ModeNamed(spec.Source.Mode)
		spec.Copy = err == nil
	}
	return spec
}

// policy returns the policy of a session that is opened in this process. A session that was open
// here keeps its mode, and the mode of the work on a plan. A copy takes over plan mode, and a mode
// that is stricter than the configured one, from its source, but no looser mode: a person allows
// that in one session.
func (s *Sessions) policy(id string, spec HostSpec, configured assemble.Mode) *assemble.Policy {
	s.mu.Lock()
	source, before := s.copies[id].policy, s.known[id].policy
	s.mu.Unlock()
	switch {
	case source != nil:
		return assemble.CopiedPolicy(configured, source)
	case before != nil:
		return before.Copy()
	}
	return spec.Policy(configured)
}

// keep records the modes of a session that was opened.
func (s *Sessions) keep(id string, k known) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]known{}
	}
	s.known[id], s.latest = k, id
	if !k.foreign {
		delete(s.copies, id)
	}
}

// chose keeps a setting that was chosen for an open session. It is stronger than a flag of the
// command line, also in copies of the session and in new sessions.
func (s *Sessions) chose(id, setting, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.known[id]
	one.chosen = maps.Clone(one.chosen)
	if one.chosen == nil {
		one.chosen = map[string]string{}
	}
	one.chosen[setting] = value
	s.known[id] = one
}

// chosenFor returns the settings that were chosen in this terminal for a session, for the session
// that it is a copy of, or, for a new session, for the session that was opened last.
func (s *Sessions) chosenFor(id string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if source, isCopy := s.copies[id]; isCopy {
		return source.chosen
	}
	return s.known[cmp.Or(id, s.latest)].chosen
}

// copied keeps the mode of the session, and what was chosen for it, for its copy. For a session that
// was not opened here, the copy's log decides.
func (s *Sessions) copied(id, fork string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, ok := s.known[id]
	if !ok {
		return
	}
	policy := of.policy
	if policy != nil {
		policy = policy.Copy() // what changes in the session later does not count
	} else if policy, ok = of.modes().policy(assemble.ModeOf(event.Ask)); !ok {
		policy = nil
	}
	if s.copies == nil {
		s.copies = map[string]source{}
	}
	s.copies[fork] = source{policy: policy, chosen: of.chosen}
}

// Close implements [tui.Sessions]. The session of an attached client stays open in its
// host.
func (s *Sessions) Close(ctx context.Context, c tui.Conversation, reason event.Reason, by string) error {
	switch c := c.(type) {
	case *attached:
		c.leave()
		return nil
	case *own:
		return c.end(ctx, reason, by)
	}
	return s.hosts.Close(ctx, c.ID(), reason, by)
}

// Resolve implements [tui.Sessions].
func (s *Sessions) Resolve(ctx context.Context, name string) (string, error) {
	if name == "" {
		return rewind.LastSession(ctx, s.dataDir, s.dir)
	}
	return store.Resolve(s.dataDir, name)
}

// Hosted returns the session with the name, which another process must host. Without a name,
// it is the last one of the directory that another process hosts.
func (s *Sessions) Hosted(ctx context.Context, name string) (string, error) {
	if name == "" {
		list, err := store.List(ctx, s.dataDir, catalogue.Query{Dir: s.dir, Limit: maxSessions})
		for _, e := range list {
			if _, known := attach.HostOf(s.dataDir, e.Session); known {
				return e.Session, nil
			}
		}
		return "", cmp.Or(err, fmt.Errorf(
			"cannot attach: no process hosts a session of %q; \"settle sessions\" lists all sessions, and "+
				"\"settle resume\" opens the last one", s.dir,
		))
	}
	id, err := store.Resolve(s.dataDir, name)
	if err != nil {
		return "", err
	}
	if _, known := attach.HostOf(s.dataDir, id); !known {
		return "", fmt.Errorf(
			"cannot attach to session %s: no process hosts it; \"settle resume %[1]s\" opens it", id,
		)
	}
	return id, nil
}

// Fork implements [tui.Sessions].
func (s *Sessions) Fork(ctx context.Context, id string) (string, error) {
	fork := settle.NewSessionID()
	s.copied(id, fork)
	return fork, store.Fork(ctx, s.dataDir, id, fork)
}

// Rename implements [tui.Sessions].
func (s *Sessions) Rename(_ context.Context, id, name string) error {
	return store.Rename(s.dataDir, id, name)
}

// List implements [tui.Sessions].
func (s *Sessions) List(ctx context.Context) ([]tui.Listed, error) {
	list, err := store.Titled(ctx, s.dataDir, catalogue.Query{Dir: s.dir, Limit: maxSessions})
	var out []tui.Listed
	for _, e := range list {
		one := tui.Listed{ID: e.Session, Updated: e.Updated, Held: e.Held, Title: e.Title}
		if e.IsEmpty() {
			continue // nothing to continue
		}
		if host, known := attach.HostOf(s.dataDir, e.Session); known {
			one.Host = host.String()
		}
		out = append(out, one)
	}
	if len(out) > 0 { // the list is complete without the catalogue
		return out, nil
	}
	return out, err
}

// Plan implements [tui.Rewinder].
func (s *Sessions) Plan(ctx context.Context, id, turn string) (*rewind.Plan, error) {
	return rewind.Read(ctx, s.dataDir, id, turn)
}

// GoBack implements [tui.Rewinder].
func (s *Sessions) GoBack(ctx context.Context, p *rewind.Plan, files rewind.Files) (rewind.Report, error) {
	r, err := p.Fork(ctx, files)
	if r.Session != "" {
		s.copied(p.Session, r.Session)
	}
	return r, err
}

// Preview implements [tui.Previewer].
func (s *Sessions) Preview(_ context.Context, id string) ([]string, error) {
	state, err := journal.Load(s.dataDir, id)
	if err != nil && len(state.Turns) == 0 {
		return nil, err
	}
	lines := []string{terminal.Count(len(state.Turns), "turn")}
	for _, t := range state.Turns[max(len(state.Turns)-maxPreviewTurns, 0):] {
		for _, in := range t.Inputs {
			if in.By == event.Resumer {
				lines = append(lines, "(continued)")
				continue
			}
			lines = append(lines, "> "+firstLine(transcript.Typed(&in)))
		}
		if answer := firstLine(t.Answer()); answer != "" {
			lines = append(lines, "  "+answer)
		}
	}
	return lines, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// Mask masks the secrets that the session opened last has read.
func (s *Sessions) Mask(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.redactor == nil {
		return text
	}
	return s.redactor.String(text)
}

func (s *Sessions) setRedactor(r *redact.Redactor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.redactor = r
}

var (
	_ tui.Sessions  = (*Sessions)(nil)
	_ tui.Rewinder  = (*Sessions)(nil)
	_ tui.Previewer = (*Sessions)(nil)
)
