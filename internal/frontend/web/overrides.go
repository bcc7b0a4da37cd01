package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
)

// sessionOverrides are the settings that clients chose for a session. The server keeps
// them while it runs, and opens a closed session with them again.
type sessionOverrides struct {
	policy   *assemble.Policy // nil before a client has chosen a permission
	settings map[string]string
}

type overrides struct {
	mu sync.Mutex
	of map[string]sessionOverrides
}

func (w *overrides) get(session string) sessionOverrides {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.of[session]
}

func (w *overrides) change(session string, f func(*sessionOverrides)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[string]sessionOverrides{}
	}
	one := w.of[session]
	f(&one)
	w.of[session] = one
}

func (w *overrides) forget(session string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, session)
}

// keepChoices has a copy of a session begin with the model that was chosen for the session, and in the
// session's mode, if that is plan mode or stricter than the server's mode.
func (s *Server) keepChoices(session, fork string) {
	if s.Sessions == nil {
		return
	}
	from := s.overrides.get(session)
	if len(from.settings) > 0 {
		s.overrides.change(fork, func(mine *sessionOverrides) { mine.settings = from.settings })
	}
	policy := from.policy
	if o := s.Sessions.Get(session); o != nil {
		policy = o.Agent.Policy()
	}
	server := s.Agent.Policy().Mode()
	switch {
	case policy != nil:
	case assemble.PlanModeIn(s.DataDir, session): // it is closed
		policy = assemble.NewPlanPolicy(server)
	default:
		return
	}
	begin := assemble.CopiedPolicy(server, policy)
	if begin.Mode().Name == server.Name {
		return // the copy's log can still have it begin in plan mode
	}
	s.overrides.change(fork, func(mine *sessionOverrides) { mine.policy = begin })
}

// keepPolicy keeps the policy of a session that can close now, if its mode is not the server's: also
// the permission with which a client accepted a plan, and what an attached client has chosen.
func (s *Server) keepPolicy(session *settle.Session) {
	o, ok := session.Value().(*assemble.Opened)
	if !ok || o.Agent.Policy() == nil || o.Agent.Policy().Mode().Name == s.Agent.Policy().Mode().Name {
		return
	}
	s.overrides.change(session.ID(), func(mine *sessionOverrides) { mine.policy = o.Agent.Policy() })
}

// continued returns the settings with which a session is opened, and what they resolve to: those that
// clients chose here, or else the model and the server of its start or of an earlier choice, unless
// this server was started with a model.
func (s *Server) continued(id string) (*config.Resolved, map[string]string, error) {
	given := s.overrides.get(id).settings
	r, err := s.Sessions.Settings(s.WorkDir, given)
	if err != nil {
		return nil, given, err
	}
	return r.Continue(id, given, func(all map[string]string) (*config.Resolved, error) {
		return s.Sessions.Settings(s.WorkDir, all)
	})
}

// nextMode returns the mode with which a session that is not open would be opened.
func (s *Server) nextMode(id string) assemble.Mode {
	if policy := s.overrides.get(id).policy; policy != nil {
		return policy.Mode()
	}
	if assemble.PlanModeIn(s.DataDir, id) {
		return assemble.PlanMode()
	}
	return s.Agent.Policy().Mode()
}

// nextSettings returns the settings of the next turn of a session that is not open and that this
// server can open; false where they are not known.
func (s *Server) nextSettings(id string) (inForce, bool) {
	if s.Sessions == nil || s.Agent == nil || s.Agent.Policy() == nil {
		return inForce{}, false
	}
	r, _, err := s.continued(id)
	if err != nil {
		return inForce{}, false
	}
	out := inForce{Model: s.Model, Effort: r.Effort, Permission: s.nextMode(id).Name}
	if choice, err := r.Choose(); err == nil {
		out.Model = choice.String()
	}
	out.Words = event.PermissionSentence(out.Permission, s.Agent.Session.Confinement)
	return out, true
}

// unusableModel is the type of the problem that a session's model cannot be used.
const unusableModel = "unusable-model"

// isUnusable reports whether a session was not opened because its model cannot be used.
func isUnusable(err error) bool {
	p, ok := errors.AsType[*problem](err)
	return ok && p.Type == problemType+unusableModel
}

func (s *Server) unusable(model string, err error) error {
	return newProblem(http.StatusConflict, unusableModel, fmt.Sprintf(
		"cannot use the model %s of this session: %s; nothing was done; choose another model", model,
		s.mask(err.Error()),
	))
}

// open opens the session, or creates it.
func (s *Server) open(ctx context.Context, id string) (*settle.Session, error) {
	if s.Sessions == nil {
		return s.Host.Session(ctx, id, s.Config)
	}
	_, chosen, err := s.continued(id) // before the session is opened, which keeps a start anew
	if err != nil {
		return nil, err
	}
	policy := s.overrides.get(id).policy // it also has the permission of the work on an accepted plan
	if policy == nil {
		policy = assemble.NewPolicy(s.Agent.Policy().Mode())
		if assemble.PlanModeIn(s.DataDir, id) {
			policy.Set(assemble.PlanMode())
			s.overrides.change(id, func(mine *sessionOverrides) { mine.policy = policy })
		}
	}
	a, err := s.Agent.Under(policy)
	if err != nil {
		return nil, err
	}
	opened, err := s.Sessions.Open(
		ctx, id, assemble.SessionSpec{
			Dir: s.WorkDir, Settings: map[string]string{}, Agent: a, Chosen: chosen,
			Options: func(o *assemble.Options) { o.Policy = policy }, // in a git worktree
		},
	)
	unusable, isUnusable := errors.AsType[*assemble.ChosenError](err)
	switch {
	case errors.Is(err, assemble.ErrOpen):
		return opened.Session, nil
	case isUnusable:
		return nil, s.unusable(chosen["model"], unusable)
	case err != nil:
		return nil, err
	}
	return opened.Session, nil
}
