package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/model/catalog"
)

// settings are how a session works. Those that a request leaves out stay.
type settings struct {
	Model      *string `json:"model,omitempty" jsonschema:"as PROVIDER/NAME; empty is the configured one"`
	Effort     *string `json:"effort,omitempty" jsonschema:"how much the model thinks; empty leaves that to it"`
	Permission *string `json:"permission,omitempty" jsonschema:"what runs without asking"`
}

// inForce are the settings of a session, from its next turn on.
type inForce struct {
	Model      string `json:"model" jsonschema:"as PROVIDER/NAME"`
	Effort     string `json:"effort" jsonschema:"empty leaves it to the model"`
	Permission string `json:"permission"`
	// Words are those of the terminal.
	Words string `json:"permission_words" jsonschema:"the permission in words"`
}

// choices are the settings that a session may have.
type choices struct {
	inForce
	Models      []offered `json:"models" jsonschema:"asked of the providers"`
	Efforts     []string  `json:"efforts"`
	Permissions []offered `json:"permissions" jsonschema:"not looser than the configured permission"`
	Problem     string    `json:"problem,omitempty" jsonschema:"why there are no models to choose from"`
}

// offered is one choice.
type offered struct {
	Name  string `json:"name"`
	About string `json:"about,omitempty"`
}

func settingRoutes() []route {
	return []route{
		{
			method:   "GET",
			path:     "/api/settings",
			name:     "listNewSettings",
			summary:  "Get the settings of the next session, and the values that a client can choose.",
			status:   http.StatusOK,
			answer:   choices{},
			problems: []int{409},
			handle:   (*Server).listNewSettings,
		},
		{
			method:   "GET",
			path:     "/api/sessions/{id}/settings",
			name:     "listSettings",
			summary:  "Get the model, the effort and the permission of a session, and the values that a client can choose.",
			status:   http.StatusOK,
			answer:   choices{},
			problems: []int{404, 409},
			handle:   (*Server).listSettings,
		},
		{
			method:   "POST",
			path:     "/api/sessions/{id}/settings",
			name:     "changeSettings",
			summary:  "Change the model or the effort from the next turn on, or the permission from the next call on. A client can only choose a permission that is not looser than the configured one.",
			body:     settings{},
			must:     true,
			status:   http.StatusOK,
			answer:   inForce{},
			problems: []int{404, 409},
			handle:   (*Server).changeSettings,
		},
	}
}

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

// keepMode has a copy of a session begin in the session's mode, if that is plan mode or stricter than
// the server's mode.
func (s *Server) keepMode(session, fork string) {
	if s.Sessions == nil {
		return
	}
	policy := s.overrides.get(session).policy
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

// open opens the session, or creates it.
func (s *Server) open(ctx context.Context, id string) (*settle.Session, error) {
	if s.Sessions == nil {
		return s.Host.Session(ctx, id, s.Config)
	}
	mine := s.overrides.get(id)
	policy := mine.policy // it also has the permission of the work on an accepted plan
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
			Dir: s.WorkDir, Settings: map[string]string{}, Agent: a,
			Options: func(o *assemble.Options) { o.Policy = policy }, // in a git worktree
		},
	)
	switch {
	case errors.Is(err, assemble.ErrOpen):
		return opened.Session, nil
	case err != nil:
		return nil, err
	case len(mine.settings) > 0:
		if err := s.Sessions.Choose(ctx, opened, mine.settings); err != nil { // it has worked before
			s.Logger.Warn(
				"cannot use the settings that were chosen for a session", "session", id, "error", s.mask(err.Error()),
			)
		}
	}
	return opened.Session, nil
}

// adjustable returns what the session was made from.
func (s *Server) adjustable(session *settle.Session) (*assemble.Opened, error) {
	if s.Sessions != nil {
		if o := s.Sessions.Get(session.ID()); o != nil {
			return o, nil
		}
	}
	return nil, errFixed()
}

func errFixed() error {
	return newProblem(http.StatusConflict, "fixed", "the settings of sessions cannot be changed here")
}

func settingsOf(o *assemble.Opened) inForce {
	now := o.Model()
	mode := o.Agent.Policy().Mode().Name
	return inForce{now.FullName(), now.Effort, mode, event.PermissionSentence(mode, o.Agent.Session.Confinement)}
}

func (s *Server) listSettings(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := s.bounded(r)
	defer cancel()
	return s.with(ctx, r.PathValue("id"), func(session *settle.Session) error {
		o, err := s.adjustable(session)
		if err != nil {
			return err
		}
		reply(w, http.StatusOK, s.choices(ctx, settingsOf(o)))
		return nil
	})
}

func (s *Server) listNewSettings(w http.ResponseWriter, r *http.Request) error {
	if s.Sessions == nil || s.Agent == nil || s.Agent.Policy() == nil {
		return errFixed()
	}
	ctx, cancel := s.bounded(r)
	defer cancel()
	first, mode := s.Agent.Session.Model, s.Agent.Policy().Mode().Name
	reply(w, http.StatusOK, s.choices(ctx, inForce{
		first.FullName(), first.Effort, mode, event.PermissionSentence(mode, s.Agent.Session.Confinement),
	}))
	return nil
}

// choices returns the settings in force with the values that a client can choose.
func (s *Server) choices(ctx context.Context, now inForce) choices {
	out := choices{inForce: now, Models: []offered{}, Efforts: catalog.Efforts(), Permissions: s.permissions()}
	models, err := s.Sessions.Offered(ctx, s.WorkDir)
	if err != nil {
		out.Problem = s.mask(err.Error())
	}
	for _, m := range models {
		out.Models = append(out.Models, offered{Name: m.Name, About: m.About})
	}
	if !slices.ContainsFunc(out.Models, func(m offered) bool { return m.Name == out.Model }) {
		out.Models = slices.Insert(out.Models, 0, offered{Name: out.Model})
	}
	return out
}

// permissions are the modes that the user's configuration leaves to clients.
func (s *Server) permissions() (out []offered) {
	for _, m := range assemble.Modes() {
		if assemble.Within(s.Ceiling, m) {
			out = append(out, offered{m.Name, event.ModeEffect(m.Name, s.Agent.Session.Confinement)})
		}
	}
	return out
}

func (s *Server) changeSettings(w http.ResponseWriter, r *http.Request) error {
	var body settings
	if err := s.decode(w, r, s.Limits.BodyBytes, &body); err != nil {
		return err
	}
	mode, err := s.mode(body.Permission)
	if err != nil {
		return err
	}
	ctx, cancel := s.bounded(r)
	defer cancel()
	return s.with(ctx, r.PathValue("id"), func(session *settle.Session) error {
		o, err := s.adjustable(session)
		if err != nil {
			return err
		}
		chosen := map[string]string{}
		for name, value := range map[string]*string{"model": body.Model, "effort": body.Effort} {
			if value != nil {
				chosen[name] = *value
			}
		}
		if err := s.choose(ctx, o, chosen); err != nil {
			return err
		}
		if mode != nil {
			o.Agent.Policy().Set(*mode)
			s.overrides.change(session.ID(), func(mine *sessionOverrides) { mine.policy = o.Agent.Policy() })
		}
		reply(w, http.StatusOK, settingsOf(o))
		return nil
	})
}

// mode is the one that a client wants; nil if it wants none.
func (s *Server) mode(name *string) (*assemble.Mode, error) {
	if name == nil {
		return nil, nil
	}
	m, err := assemble.ModeNamed(*name)
	if err != nil {
		return nil, newProblem(http.StatusBadRequest, "permission", err.Error()+"; nothing was changed")
	}
	if !assemble.Within(s.Ceiling, m) {
		return nil, newProblem(
			http.StatusForbidden,
			"permission",
			"the permission "+m.Name+" allows more than the user configured ("+string(s.Ceiling)+
				"); nothing was changed; start \"settle serve --permission "+string(cmp.Or(m.Permission, settle.Ask))+"\" for that",
		)
	}
	return &m, nil
}

func (s *Server) choose(ctx context.Context, o *assemble.Opened, chosen map[string]string) error {
	if effort := chosen["effort"]; effort != "" && !slices.Contains(catalog.Efforts(), effort) {
		return newProblem(http.StatusBadRequest, "effort", "there is no effort \""+effort+"\"; nothing was changed")
	}
	if len(chosen) == 0 {
		return nil
	}
	if err := s.Sessions.Choose(ctx, o, chosen); err != nil {
		if errors.Is(err, settle.ErrClosed) || ctx.Err() != nil {
			return err
		}
		return newProblem(http.StatusBadRequest, "model", err.Error()+"; nothing was changed")
	}
	s.overrides.change(o.ID(), func(mine *sessionOverrides) {
		all := map[string]string{}
		for _, some := range []map[string]string{mine.settings, chosen} {
			for name, value := range some {
				all[name] = value
			}
		}
		mine.settings = all
	})
	return nil
}
