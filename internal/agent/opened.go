package agent

import (
	"context"
	"fmt"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
)

// Opened is a session that a client has open, with a host of its own: clients
// of one face may want different directories, models and policies.
type Opened struct {
	*settle.Session
	Agent *Agent
	Wish  Wish
	host  *settle.Host
}

// Rethink has the session's next turns ask the agent's model.
func (o *Opened) Rethink(ctx context.Context, a *Agent) error {
	o.Agent.Redact.Add(a.Config.Secrets...)
	if err := o.SetBrain(ctx, a.Config.Brain()); err != nil {
		return fmt.Errorf("cannot change the model: %w", err)
	}
	return nil
}

// Pending reports whether an approval waits for an answer. One that a policy has
// answered does not, and events may be gone through a second time.
func (o *Opened) Pending(approval string) (waits bool) {
	o.View(func(s event.State) {
		if t := s.Running(); t != nil {
			a := t.Approval(approval)
			waits = a != nil && a.Ended == nil
		}
	})
	return waits
}
