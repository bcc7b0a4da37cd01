package hooks

import (
	"github.com/settle-agent/settle/event"
)

// Verdict is what all hooks have said about an occasion. The zero Verdict says
// nothing.
type Verdict struct {
	// Decision is the strictest of what was said; a hook that is not the user's own
	// never allows. Reason is why, for the model and people.
	Decision event.Permission
	Reason   string
	// Arguments are what a call is to run with instead; empty for its own.
	Arguments string
	// Context is for the model.
	Context []string
	// Stop says that the turn is to end, and Why.
	Stop bool
	Why  string
}

// Denied reports whether what was asked about must not happen.
func (v Verdict) Denied() bool { return v.Decision == event.Deny }

// add adds what one hook has said.
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
