package assemble

import (
	"context"
	"fmt"
	"slices"

	"github.com/settle-agent/settle"
)

// Opened is a session that a client has open, with what it was made from. It is
// the session's Value.
type Opened struct {
	*settle.Session
	Agent *Agent
	Spec  SessionSpec
}

// SetModel has the session's next turns ask the agent's model.
func (o *Opened) SetModel(ctx context.Context, a *Agent) error {
	m := a.Session.Model
	m.Secrets = slices.Concat(a.Session.Secrets, m.Secrets)
	o.Agent.Redact.Add(m.Secrets...)
	if err := o.Session.SetModel(ctx, m); err != nil {
		return fmt.Errorf("cannot change the model: %w", err)
	}
	return nil
}
