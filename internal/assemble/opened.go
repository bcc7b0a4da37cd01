package assemble

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
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
	unkept bool              // KeepStarted keeps the settings of the Agent
}

// KeepStarted keeps the model, the server and the effort of a session that was opened with an existing
// agent, once a turn uses them. A later call does nothing.
func (o *Opened) KeepStarted() {
	o.mu.Lock()
	unkept := o.unkept
	o.unkept = false
	o.mu.Unlock()
	if !unkept {
		return
	}
	if err := o.Agent.KeepStarted(o.ID()); err != nil && o.Agent.Session.Logger != nil {
		o.Agent.Session.Logger.Warn(err.Error()) // the session has its model while it is open
	}
}

// ChosenError: the settings that were chosen for a session cannot be used, so it was not opened.
type ChosenError struct{ Err error }

func (e *ChosenError) Error() string { return e.Err.Error() }
func (e *ChosenError) Unwrap() error { return e.Err }

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
// earlier choices; an empty one restores the configured value. A continuation of the session keeps
// the choice, like a copy. Choose only selects the model: it does not check the session's directory
// again, and the policy stays.
func (h *Sessions) Choose(ctx context.Context, o *Opened, settings map[string]string) error {
	err := h.choose(ctx, o, settings)
	for name := range settings {
		flag, where := config.FlagOf(name), "cannot change the "+name // nobody used the flag
		if e, ok := errors.AsType[*config.Error](err); ok && e.Where == flag {
			return &config.Error{Where: where, Message: e.Message}
		}
		if e, ok := errors.AsType[*config.ModelError](err); ok && e.Where == flag {
			chosen := *e
			chosen.Where = where
			return &chosen
		}
	}
	return err
}

func (h *Sessions) choose(ctx context.Context, o *Opened, settings map[string]string) error {
	o.choosing.Lock()
	defer o.choosing.Unlock()
	spec := o.Spec
	o.mu.Lock()
	if o.chosen != nil {
		spec.Settings = o.chosen
	}
	o.mu.Unlock()
	spec.Chosen = settings
	c, err := h.chosenModel(ctx, spec, o.Model().ProviderName)
	if err != nil {
		return err
	}
	if err := o.use(ctx, c); err != nil {
		return err
	}
	if o.Agent.Session.Ephemeral {
		return nil
	}
	if err := c.resolved.KeepChosen(o.ID()); err != nil && o.Agent.Session.Logger != nil {
		o.Agent.Session.Logger.Warn(err.Error()) // the choice holds while the session is open
	}
	return nil
}

// chosenModel has the agent with a chosen model, and the settings that chose it.
type chosenModel struct {
	agent    *Agent // without tools and prompt
	settings map[string]string
	resolved *config.Resolved
}

// chosenModel makes the model that spec.Chosen chooses, over spec.Settings. provider is the provider of
// the session's model.
func (h *Sessions) chosenModel(ctx context.Context, spec SessionSpec, provider string) (*chosenModel, error) {
	spec.Settings = config.Merge(spec.Settings, spec.Chosen, provider)
	maps.DeleteFunc(spec.Settings, func(_, value string) bool { return value == "" })
	r, err := h.Settings(spec.Dir, spec.Settings)
	if err != nil {
		return nil, err
	}
	from, err := h.options(spec, r)
	if err != nil {
		return nil, err
	}
	a := newAgent(from)
	if err := from.model(ctx, a); err != nil {
		return nil, err
	}
	return &chosenModel{a, spec.Settings, r}, nil
}

// use has the session's next turns use a chosen model.
func (o *Opened) use(ctx context.Context, c *chosenModel) error {
	if err := o.SetModel(ctx, c.agent); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.chosen, o.unkept = c.settings, false
	return nil
}
