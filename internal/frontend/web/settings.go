package web

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/model/catalog"
)

// settings are the settings of a session. A request leaves a setting unchanged by leaving it out.
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
	// Words describe the permission as the terminal does.
	Words string `json:"permission_words" jsonschema:"the permission in words"`
}

// choices are the settings that a session may have.
type choices struct {
	inForce
	Models      []offered `json:"models" jsonschema:"asked of the providers"`
	Efforts     []string  `json:"efforts"`
	Permissions []offered `json:"permissions" jsonschema:"not looser than the configured permission"`
	Problem     string    `json:"problem,omitempty" jsonschema:"why there are no models to choose from"`
	Unusable    string    `json:"unusable,omitempty" jsonschema:"why the model cannot be used; choose another"`
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
	id := r.PathValue("id")
	err := s.with(ctx, id, func(session *settle.Session) error {
		o, err := s.adjustable(session)
		if err != nil {
			return err
		}
		reply(w, http.StatusOK, s.choices(ctx, settingsOf(o)))
		return nil
	})
	if !isUnusable(err) {
		return err
	}
	next, ok := s.nextSettings(id)
	if !ok {
		return err
	}
	out := s.choices(ctx, next) // so that a client can choose another model
	out.Unusable = err.Error()
	reply(w, http.StatusOK, out)
	return nil
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
	chosen := map[string]string{}
	for name, value := range map[string]*string{"model": body.Model, "effort": body.Effort} {
		if value != nil {
			chosen[name] = *value
		}
	}
	return s.withModel(ctx, r.PathValue("id"), body.Model, func(session *settle.Session) error {
		o, err := s.adjustable(session)
		if err != nil {
			return err
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

// withModel calls f with the session. If the session's own model cannot be used, the session is opened
// with the model that a client chooses, if there is one.
func (s *Server) withModel(ctx context.Context, id string, model *string, f func(*settle.Session) error) error {
	err := s.with(ctx, id, f)
	if model == nil || !isUnusable(err) {
		return err
	}
	before := s.overrides.get(id).settings
	choose := func(settings map[string]string) {
		s.overrides.change(id, func(mine *sessionOverrides) { mine.settings = settings })
	}
	choose(map[string]string{"model": cmp.Or(*model, s.Model)})
	if err = s.with(ctx, id, f); isUnusable(err) {
		choose(before)
	}
	return err
}

// mode returns the permission mode that a client requests; nil if it requests none.
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
		maps.Copy(all, mine.settings)
		maps.Copy(all, chosen)
		maps.DeleteFunc(all, func(_, value string) bool { return value == "" }) // the configured one
		mine.settings = all
	})
	return nil
}
