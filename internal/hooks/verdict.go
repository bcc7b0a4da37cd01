package hooks

import (
	"github.com/settle-agent/settle/event"
)

// Verdict combines the responses of all hooks of an occasion. The zero Verdict has no effect.
type Verdict struct {
	// Decision is the strictest response; only the user's own hooks can allow. Reason explains
	// the decision to the model and to people.
	Decision event.Permission
	Reason   string
	// Arguments replace the call's arguments; empty changes nothing.
	Arguments string
	// Context is for the model.
	Context []string
	// Stop ends the turn; Why is the reason.
	Stop bool
	Why  string
}

// Denied reports whether the hooks refused the occasion.
func (v Verdict) Denied() bool { return v.Decision == event.Deny }

// add adds the response of one hook.
func (v *Verdict) add(h *hook, s response) {
	decision := s.Decision
	if decision == event.Allow && !h.Own {
		decision = ""
	}
	if strictness(decision) > strictness(v.Decision) {
		v.Decision, v.Reason = decision, s.Reason
	}
	if s.Context != "" {
		v.Context = append(v.Context, s.Context)
	}
	if s.Stop && !v.Stop {
		v.Stop, v.Why = true, s.Reason
	}
}

func strictness(p event.Permission) int {
	switch p {
	case event.Deny:
		return 3
	case event.Ask:
		return 2
	case event.Allow:
		return 1
	}
	return 0
}
