package settle

import (
	"context"
	"errors"

	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/model"
)

// Brain is a model with the provider that serves it; see [Config] for the
// fields.
type Brain struct {
	Provider     model.Provider
	ProviderName string
	Model        string
	Traits       Traits
	Effort       string
	Bounds       Bounds
	// Limiter is that of the provider's key; nil leaves the host's.
	Limiter *Limiter
	// Secrets, such as that key, appear in no event from then on.
	Secrets []string
}

// Brain returns the model of the configuration.
func (c Config) Brain() Brain {
	return Brain{c.Provider, c.ProviderName, c.Model, c.Traits, c.Effort, c.Bounds, c.Limiter, c.Secrets}
}

func (b Brain) target(session string) history.Target {
	return history.Target{
		Provider: b.ProviderName, Model: b.Model, Window: b.Traits.Window, MaxOutput: b.Traits.MaxOutput, NoImages: b.Traits.NoImages,
		TextAfterCalls: b.Traits.TextAfterCalls, ReasoningField: b.Traits.ReasoningField, RefusalSticks: b.Traits.RefusalSticks,
		Effort: b.Effort, CacheKey: session,
	}
}

// SetBrain has the session's next turns ask another model. One that runs goes
// on with its own. The tools stay as they are.
func (s *Session) SetBrain(ctx context.Context, b Brain) error {
	if b.Provider == nil || b.Model == "" {
		return errors.New("cannot change the model without a provider and a model")
	}
	s.host.redact.Add(b.Secrets...) // C15
	return s.actor.SetBrain(ctx, session.Brain{Provider: b.Provider, Target: b.target(s.id), Bounds: b.Bounds, Limiter: b.Limiter})
}
