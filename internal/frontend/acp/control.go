package acp

import (
	"cmp"
	"context"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/model/catalog"
)

// modeChoices are the modes that the user's configuration leaves to the client.
func (ses *session) modeChoices() []choice {
	var all []choice
	for _, term := range event.ModeTerms() {
		all = append(all, choice{
			term.Value, sentence(term.Words),
			sentence(event.ModeEffect(term.Value, ses.opened.Agent.Session.Confinement)),
		})
	}
	return slices.DeleteFunc(all, func(c choice) bool {
		m, err := assemble.ModeNamed(c.Value)
		return err != nil || !assemble.Within(ses.ceiling, m)
	})
}

// modes returns the modes of a session, with the mode in force.
func (ses *session) modes() object {
	available := []object{}
	for _, c := range ses.modeChoices() {
		available = append(available, object{"id": c.Value, "name": c.Name, "description": c.Description})
	}
	return object{"currentModeId": ses.policy.Mode().Name, "availableModes": available}
}

// byDefault is the choice of the model's own default.
const byDefault = "default"

// options returns the present choices of the client for a session.
func (ses *session) options() []object {
	now := ses.opened.Model()
	return []object{
		option("mode", "Mode", "mode", ses.policy.Mode().Name, ses.modeChoices()),
		option("model", "Model", "model", now.FullName(), named(ses.models(now.FullName()))),
		option(
			"effort", "Effort", "thought_level", cmp.Or(now.Effort, byDefault),
			named(append([]string{byDefault}, catalog.Efforts()...)),
		),
	}
}

func option(id, name, category, current string, choices []choice) object {
	return object{
		"id":           id,
		"name":         name,
		"category":     category,
		"type":         "select",
		"currentValue": current,
		"options":      choices,
	}
}

// named are choices that are called by their values.
func named(values []string) (out []choice) {
	for _, v := range values {
		out = append(out, choice{Value: v, Name: v})
	}
	return out
}

// models returns the names of the models that the session can use: the current model, the models in
// the configuration, and the default models of providers that are ready. If the configuration has a
// base URL, models returns the current model only.
func (ses *session) models(now string) []string {
	all := []string{now}
	r, err := ses.Sessions.Settings(ses.opened.Spec.Dir, nil)
	if err != nil || r.BaseURL != "" {
		return all
	}
	for name := range r.Models {
		all = append(all, name)
	}
	for name, p := range r.Providers {
		if p.Model != "" && r.Ready(p) {
			all = append(all, name+"/"+p.Model)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (s *Server) setMode(_ context.Context, in about) (any, error) {
	ses, err := s.find(in.SessionID)
	if err != nil {
		return nil, err
	}
	if err := ses.setMode(in.ModeID); err != nil {
		return nil, err
	}
	return object{}, ses.tell(object{"sessionUpdate": "config_option_update", "configOptions": ses.options()})
}

func (ses *session) setMode(name string) error {
	m, err := assemble.ModeNamed(name)
	if err != nil {
		return invalid("%v", err)
	}
	if !assemble.Within(ses.ceiling, m) {
		return invalid(
			"the mode %q allows more than the user configured (permission %q); nothing was changed; a client can only choose a stricter one",
			name,
			ses.ceiling,
		)
	}
	ses.policy.Set(m)
	return nil
}

func (s *Server) setOption(ctx context.Context, in about) (any, error) {
	ses, err := s.find(in.SessionID)
	if err != nil {
		return nil, err
	}
	value, ok := in.Value.(string)
	if !ok {
		return nil, invalid("the value of %q is a string", in.ConfigID)
	}
	switch in.ConfigID {
	case "mode":
		if err = ses.setMode(value); err == nil {
			err = ses.tell(object{"sessionUpdate": "current_mode_update", "currentModeId": value})
		}
	case "model":
		err = ses.choose(ctx, "model", value)
	case "effort", "reasoning_effort", "thought_level":
		if value == byDefault {
			value = ""
		}
		err = ses.choose(ctx, "effort", value)
	default:
		err = invalid("there is no option %q; the options are mode, model and effort", in.ConfigID)
	}
	if err != nil {
		return nil, err
	}
	return object{"configOptions": ses.options()}, nil
}

// choose has the session's next turns ask another model, or ask otherwise.
func (ses *session) choose(ctx context.Context, setting, value string) error {
	if err := ses.Sessions.Choose(ctx, ses.opened, map[string]string{setting: value}); err != nil {
		return invalid("%v", err)
	}
	return nil
}
