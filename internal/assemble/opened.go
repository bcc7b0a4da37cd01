package assemble

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/model"
)

// Opened is a session that a client has open, with what it was made from. It is
// the session's Value.
type Opened struct {
	*settle.Session
	Agent *Agent
	Spec  SessionSpec

	sessions *Sessions  // that it is one of
	choosing sync.Mutex // one choice at a time

	mu     sync.Mutex        // guards what follows
	model  *model.Config     // that was set; nil for the Agent's
	chosen map[string]string // settings; nil for those of the Spec
}

// Model is what the session's next turns ask.
func (o *Opened) Model() model.Config {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.model == nil {
		return o.Agent.Session.Model
	}
	return *o.model
}

// SetModel has the session's next turns ask the agent's model.
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

// Choose is [Sessions.Choose] of the sessions that it is one of.
func (o *Opened) Choose(ctx context.Context, settings map[string]string) error {
	return o.sessions.Choose(ctx, o, settings)
}

// Offered returns the models that the session could ask, of which the providers are
// asked.
func (o *Opened) Offered(ctx context.Context) ([]Offered, error) {
	return o.sessions.Offered(ctx, o.Spec.Dir)
}

// Choose has the session's next turns ask the model of the settings, which a client
// chooses over those that it chose before. An empty one is what is configured. Only
// the model is put together anew: the session's directory is not chosen again, and its calls are judged
// as before.
func (h *Sessions) Choose(ctx context.Context, o *Opened, settings map[string]string) error {
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
	from, err := h.options(spec)
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
