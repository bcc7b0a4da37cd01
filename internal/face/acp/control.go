package acp

import (
	"cmp"
	"context"
	"slices"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

func policy(name string) (assemble.Mode, bool) {
	for _, m := range assemble.Modes() {
		if m.Name == name {
			return m, true
		}
	}
	return assemble.Mode{}, false
}

// initialMode is the mode that a session begins in.
func initialMode(p settle.Permission) assemble.Mode {
	name := map[settle.Permission]string{settle.Allow: "allow", settle.Deny: "read-only"}[p]
	m, _ := policy(cmp.Or(name, "ask"))
	return m
}

// described are the modes that the user's configuration leaves to the client.
func described(user settle.Permission) []mode {
	all := []mode{
		{"ask", "Ask", "Asks before calls that could change something"},
		{"accept-edits", "Accept edits", "Edits files without asking, and asks about everything else that could change something"},
		{"read-only", "Read only", "Refuses calls that could change something"},
		{"allow", "Allow everything", "Runs every call without asking"},
	}
	return slices.DeleteFunc(all, func(m mode) bool {
		p, _ := policy(m.ID)
		return !assemble.Within(user, p)
	})
}

// modes are those of a session, with the one in force.
func (ses *session) modes() modes {
	return modes{Current: ses.policy.Mode().Name, Available: described(ses.ceiling)}
}

// choices are what a client chose over the settings; empty is what they say.
type choices struct{ model, effort string }

func (c choices) settings() map[string]string {
	given := map[string]string{}
	if c.model != "" {
		given["model"] = c.model
	}
	if c.effort != "" {
		given["effort"] = c.effort
	}
	return given
}

// efforts are how much a model may be told to think.
func efforts() []string {
	return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
}

// byDefault is the choice of what the model does if it is told nothing.
const byDefault = "default"

// options are what the client may choose for a session, as it is now.
func (ses *session) options() []option {
	ses.mu.Lock()
	now := ses.model
	ses.mu.Unlock()
	m := option{ID: "mode", Name: "Mode", Category: "mode", Type: "select", Current: ses.policy.Mode().Name}
	for _, d := range described(ses.ceiling) {
		m.Options = append(m.Options, choice{d.ID, d.Name, d.Description})
	}
	name := now.ProviderName + "/" + now.Name
	models := option{ID: "model", Name: "Model", Category: "model", Type: "select", Current: name}
	for _, other := range ses.models(name) {
		models.Options = append(models.Options, choice{Value: other, Name: other})
	}
	effort := option{ID: "effort", Name: "Effort", Category: "thought_level", Type: "select", Current: cmp.Or(now.Effort, byDefault)}
	for _, e := range append([]string{byDefault}, efforts()...) {
		effort.Options = append(effort.Options, choice{Value: e, Name: e})
	}
	return []option{m, models, effort}
}

// models are those that the session may use: the one that it does, those that
// the configuration names, and the defaults of providers that are ready. Where
// the address of a server was given for one, it is that server's alone.
func (ses *session) models(now string) []string {
	all := []string{now}
	r, err := ses.server.o.Sessions.Settings(ses.opened.Spec.Dir, nil)
	if err != nil || r.BaseURL != "" {
		return all
	}
	for name := range r.Models {
		all = append(all, name)
	}
	for name, p := range r.Providers {
		if p.Model != "" && p.BaseURL != "" && (p.KeyEnv == "" || ses.server.o.Sessions.Base.Getenv(p.KeyEnv) != "" || len(p.KeyCommand) > 0) {
			all = append(all, name+"/"+p.Model)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (s *Server) setMode(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var in modeParams
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	ses, err := s.opened(ctx, in.SessionID)
	if err != nil {
		return nil, err
	}
	if err := ses.setMode(in.ModeID); err != nil {
		return nil, err
	}
	return object{}, ses.send(object{"sessionUpdate": "config_option_update", "configOptions": ses.options()})
}

func (ses *session) setMode(name string) error {
	m, ok := policy(name)
	if !ok {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "there is no mode %q; the modes are ask, accept-edits, read-only and allow", name)
	}
	if !assemble.Within(ses.ceiling, m) {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams,
			"the mode %q allows more than the user configured (permission %q); nothing was changed; a client can only choose a stricter one", name, ses.ceiling)
	}
	ses.policy.Set(m)
	return nil
}

func (s *Server) setOption(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var in optionParams
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	ses, err := s.opened(ctx, in.SessionID)
	if err != nil {
		return nil, err
	}
	value, ok := in.Value.(string)
	if !ok {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the value of %q is a string", in.ConfigID)
	}
	switch in.ConfigID {
	case "mode":
		if err := ses.setMode(value); err != nil {
			return nil, err
		}
		if err := ses.send(object{"sessionUpdate": "current_mode_update", "currentModeId": value}); err != nil {
			return nil, err
		}
	case "model":
		err = ses.choose(ctx, func(c *choices) { c.model = value })
	case "effort", "reasoning_effort", "thought_level":
		if value == byDefault {
			value = ""
		}
		err = ses.choose(ctx, func(c *choices) { c.effort = value })
	default:
		err = jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "there is no option %q; the options are mode, model and effort", in.ConfigID)
	}
	if err != nil {
		return nil, err
	}
	return object{"configOptions": ses.options()}, nil
}

// choose has the session's next turns ask another model, or ask otherwise.
func (ses *session) choose(ctx context.Context, change func(*choices)) error {
	ses.choosing.Lock()
	defer ses.choosing.Unlock()
	next := ses.chosen
	change(&next)
	wish := ses.opened.Spec
	wish.Settings = next.settings()
	a, err := ses.server.o.Sessions.Agent(ctx, wish)
	if err != nil {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "%v", err)
	}
	if err := ses.opened.SetModel(ctx, a); err != nil {
		return err
	}
	ses.chosen = next
	ses.mu.Lock()
	defer ses.mu.Unlock()
	ses.model = a.Session.Model
	return nil
}

// window is how many tokens the session's model takes; 0 if unknown.
func (ses *session) window() int {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return ses.model.Window
}
