package contract

import "github.com/settle-agent/settle/event"

// hook is a hook that runs or ran.
type hook struct {
	event      event.HookEvent
	turn, call string
	input      string
	ended      bool
	outcome    event.Outcome
	decision   event.Permission
	arguments  string
	spent      *event.AttemptEnded // by a review
}

// mayRefuse reports whether a blocking hook has refused its occasion, or still can.
func (h *hook) mayRefuse() bool {
	return h.event.IsBlocking() && (!h.ended || h.outcome != event.Completed || h.decision == event.Deny)
}

// hookStarted: C2, each run of a hook is one entity.
func (l *log) hookStarted(e event.Event, d event.HookStarted) {
	if d.Hook == "" || l.hooks[d.Hook] != nil {
		l.breaks("C2", "%q is not a new hook's id", d.Hook)
		return
	}
	h := &hook{event: d.Event, turn: e.Turn, call: e.Item, input: d.Input}
	l.hooks[d.Hook] = h
	if e.Turn != "" {
		l.running.hooks = append(l.running.hooks, h)
	}
	if e.Item == "" {
		return
	}
	i := (*item)(nil)
	if e.Turn != "" {
		i = l.running.items[e.Item]
	}
	switch {
	case i == nil:
		l.breaks("C2", "hook %s is of item %q, which did not start", d.Hook, e.Item)
	case d.Event == event.HookBefore && i.started:
		l.breaks("C5", "hook %s runs for call %s, which has started", d.Hook, e.Item)
	}
}

// hookEnded: C2, a hook ends once; a blocking hook that failed denies.
func (l *log) hookEnded(e event.Event, d event.HookEnded) {
	h := l.hooks[d.Hook]
	if h == nil || h.ended || h.turn != e.Turn {
		l.breaks("C2", "hook %s is not running", d.Hook)
		return
	}
	h.ended, h.outcome, h.decision, h.arguments = true, d.Outcome, d.Decision, d.Arguments
	if spent, ok := d.Spent(); ok {
		h.spent = &spent
		if h.event != event.HookReview {
			l.breaks("C2", "hook %s has the usage of a review", d.Hook)
		}
	}
	if h.event == event.HookReview && d.Decision == event.Deny {
		l.breaks("C16", "review %s denies: it can allow, or have a person asked", d.Hook)
	}
	switch d.Outcome {
	case event.Completed:
	case event.Aborted:
		l.cause(d.Cause, "hook "+d.Hook)
	case event.Failed:
		if h.event.IsBlocking() && d.Decision != event.Deny {
			l.breaks("C16", "hook %s failed, and says %q", d.Hook, d.Decision)
		}
	default:
		l.breaks("C2", "hook %s ends as %q", d.Hook, d.Outcome)
	}
	l.survivors(d.Survivors)
}

// changed returns the arguments with which a call starts, if a hook or a person changed them
// (C5).
func (l *log) changed(t *turn, i *item, e event.Event) string {
	d, _ := e.Data.(event.CallStarted)
	if d.Arguments == "" {
		return ""
	}
	for _, h := range l.hooks {
		if h.turn == t.id && h.call == i.id && h.arguments == d.Arguments {
			return d.Arguments
		}
	}
	for _, a := range t.approvals {
		if a.call == i.id && a.arguments == d.Arguments {
			return d.Arguments
		}
	}
	l.breaks("C5", "call %s starts with other arguments, and no hook and no person has changed them", i.id)
	return d.Arguments
}

// passed: a model request starts only after the blocking hooks have answered, and
// contains only inputs that they allowed.
func (l *log) passed(t *turn, joining []string) {
	left := len(t.inputs) == 0
	for _, id := range t.inputs {
		left = left || !l.barred(t, id)
	}
	if !left {
		l.breaks("C16", "a hook refused the input of turn %s, and a model request follows", t.id)
	}
	for _, id := range joining {
		if l.barred(t, id) {
			l.breaks("C16", "a hook refused input %s, and the input joins turn %s", id, t.id)
		}
	}
	for id, h := range l.hooks {
		if h.turn == t.id && h.event == event.HookPrompt && !h.ended {
			l.breaks("C16", "hook %s has not answered, and a model request follows", id)
		}
	}
}

// barred reports whether a hook of the turn refused the input.
func (l *log) barred(t *turn, input string) bool {
	for _, h := range l.hooks {
		if h.input == input && h.turn == t.id && h.mayRefuse() {
			return true
		}
	}
	return false
}
