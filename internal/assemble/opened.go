package assemble

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/model"
)

// Opened is an open session of a client, with the values that it was made from. It is the
// session's Value.
type Opened struct {
	*settle.Session
	Agent *Agent
	Spec  SessionSpec

	sessions *Sessions  // the owner of the session
	choosing sync.Mutex // serializes choices

	mu     sync.Mutex        // guards the fields below
	model  *model.Config     // model set by SetModel; nil for the Agent's model
	chosen map[string]string // chosen settings; nil for the settings of the Spec
}

// Model returns the model of the session's next turns.
func (o *Opened) Model() model.Config {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.model == nil {
		return o.Agent.Session.Model
	}
	return *o.model
}

// SetModel sets the model of the session's next turns to the agent's model.
func (o *Opened) SetModel(ctx context.Context, a *Agent) error {
	m := a.Session.Model
	m.Secrets = slices.Concat(a.Session.Secrets, m.Secrets)
	o.Agent.Redact.Add(m.Secrets...)
	if err := o.Session.SetModel(ctx, m); err != nil {
		return fmt.Errorf("cannot change the model: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.model = &m
	return nil
}

// Choose calls [Sessions.Choose] of the session's owner.
func (o *Opened) Choose(ctx context.Context, settings map[string]string) error {
	return o.sessions.Choose(ctx, o, settings)
}

// Offered requests the models that the session can use from the providers.
func (o *Opened) Offered(ctx context.Context) ([]Offered, error) {
	return o.sessions.Offered(ctx, o.Spec.Dir)
}

// Choose changes the model settings of the session's next turns. The settings override
// earlier choices; an empty one restores the configured value. Choose only selects the
// model: it does not check the session's directory again, and the policy stays.
func (h *Sessions) Choose(ctx context.Context, o *Opened, settings map[string]string) error {
	err := h.choose(ctx, o, settings)
	for name := range settings {
		if err != nil && strings.HasPrefix(err.Error(), flagOf(name)+": ") {
			return &chosenError{name, err}
		}
	}
	return err
}

func flagOf(setting string) string { return "--" + strings.ReplaceAll(setting, "_", "-") }

// chosenError is an error about a setting that was chosen for a session. Its text does not name the flag
// of the command line, which nobody used.
type chosenError struct {
	setting string
	err     error // its text begins with the flag
}

func (e *chosenError) Error() string {
	return "cannot change the " + e.setting + strings.TrimPrefix(e.err.Error(), flagOf(e.setting))
}

func (e *chosenError) Unwrap() error { return e.err }

func (h *Sessions) choose(ctx context.Context, o *Opened, settings map[string]string) error {
	o.choosing.Lock()
	defer o.choosing.Unlock()
	spec := o.Spec
	o.mu.Lock()
	if o.chosen != nil {
		spec.Settings = o.chosen
	}
	o.mu.Unlock()
	next := map[string]string{}
	maps.Copy(next, spec.Settings)
	maps.Copy(next, settings)
	maps.DeleteFunc(next, func(_, value string) bool { return value == "" })
	spec.Settings = next
	r, err := h.Settings(spec.Dir, spec.Settings)
	if err != nil {
		return err
	}
	from, err := h.options(spec, r)
	if err != nil {
		return err
	}
	a := newAgent(from)
	if err := from.model(ctx, a); err != nil {
		return err
	}
	if err := o.SetModel(ctx, a); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.chosen = next
	return nil
}
