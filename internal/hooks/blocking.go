package hooks

import (
	"context"
	"fmt"

	"github.com/settle-agent/settle/event"
)

// maxRounds bounds how often the hooks of a call see the changes of each other.
const maxRounds = 4

// Before runs the blocking hooks of a call before the call runs. If one of them changes the
// call, the others run again, so that each has seen the final call. The error is the cause of
// ctx, or means that the call has ended; in both cases the call must not run.
func (s *Set) Before(ctx context.Context, c Call) (Verdict, error) {
	if !s.On(event.HookBefore) {
		return Verdict{}, nil
	}
	original, latest := c.Arguments, map[*hook]Verdict{}
	var changer *hook
	for range maxRounds {
		o := &occasion{
			event: event.HookBefore, turn: c.Turn, item: c.Item, aspects: s.aspects(c), open: c.waits,
		}
		runs := s.matching(o, func(h *hook) bool { return h != changer })
		changed, by, err := s.round(ctx, o, runs, latest)
		if err != nil {
			return Verdict{Decision: event.Deny}, err
		}
		v := s.together(latest)
		if by == nil || v.Denied() {
			if c.Arguments != original {
				v.Arguments = c.Arguments
			}
			return v, nil
		}
		c.Arguments, changer = changed, by
		withdraw(latest, changer)
	}
	return Verdict{
		Decision: event.Deny, Reason: fmt.Sprintf("hooks keep changing each other's arguments of %q", c.Tool),
	}, nil
}

// round runs the hooks once. It returns the first change of the arguments, and the hook that
// made it.
func (s *Set) round(
	ctx context.Context, o *occasion, runs []*execution, latest map[*hook]Verdict,
) (changed string, by *hook, err error) {
	if len(runs) == 0 {
		return "", nil, nil
	}
	all, err := s.runAll(ctx, o, runs)
	if err != nil {
		return "", nil, err
	}
	now := map[*hook]Verdict{} // verdicts about earlier arguments do not count any more
	for n, r := range runs {
		v := now[r.hook]
		v.add(r.hook, all[n])
		now[r.hook] = v
		if by == nil && all[n].Arguments != "" {
			changed, by = all[n].Arguments, r.hook
		}
	}
	for h, v := range now {
		latest[h] = v
	}
	return changed, by, nil
}

// withdraw removes what hooks allowed before the changer changed the call. Those that match the
// changed call run again; the others have not seen it.
func withdraw(latest map[*hook]Verdict, changer *hook) {
	for h, v := range latest {
		if h != changer && v.Decision == event.Allow {
			v.Decision, v.Reason = "", ""
			latest[h] = v
		}
	}
}

// together combines the last verdicts of the hooks, in the order of the configuration.
func (s *Set) together(latest map[*hook]Verdict) (out Verdict) {
	list := s.byEvent[event.HookBefore]
	for n := range list {
		v, ok := latest[&list[n]]
		if !ok {
			continue
		}
		if strictness(v.Decision) > strictness(out.Decision) {
			out.Decision, out.Reason = v.Decision, v.Reason
		}
		out.Context = append(out.Context, v.Context...)
		if v.Stop && !out.Stop {
			out.Stop, out.Why = true, v.Why
		}
	}
	return out
}

// Permit runs the blocking hooks of a call that needs approval. The zero Verdict leaves the
// decision to the approver.
func (s *Set) Permit(ctx context.Context, c Call) (Verdict, error) {
	return s.fire(ctx, func() *occasion {
		return &occasion{
			event: event.HookPermission, turn: c.Turn, item: c.Item, aspects: s.aspects(c), open: c.waits,
		}
	}, event.HookPermission)
}

// Prompt runs the blocking hooks of an input before a model sees the input.
func (s *Set) Prompt(ctx context.Context, turn string, in event.Input) (Verdict, error) {
	return s.fire(ctx, func() *occasion {
		return &occasion{event: event.HookPrompt, turn: turn, input: in.ID, aspects: fields(nil, "prompt", in.Text)}
	}, event.HookPrompt)
}

// waits reports whether the call has neither started nor ended.
func (c Call) waits(st event.State) bool {
	i := c.in(st)
	return i != nil && !i.Started
}

// open reports whether the call has not ended.
func (c Call) open(st event.State) bool { return c.in(st) != nil }

// in returns the open item of the call; nil if it has ended.
func (c Call) in(st event.State) *event.Item {
	t := st.Running()
	if t == nil || t.ID != c.Turn {
		return nil
	}
	if i := t.Item(c.Item); i != nil && i.Status == event.ItemOpen {
		return i
	}
	return nil
}

// fire runs the hooks of an occasion and combines their responses.
func (s *Set) fire(ctx context.Context, about func() *occasion, e event.HookEvent) (Verdict, error) {
	var v Verdict
	if !s.On(e) {
		return v, nil
	}
	o := about()
	runs := s.matching(o, nil)
	if len(runs) == 0 {
		return v, nil
	}
	all, err := s.runAll(ctx, o, runs)
	if err != nil {
		return Verdict{Decision: event.Deny}, err
	}
	for n, r := range runs {
		v.add(r.hook, all[n])
	}
	return v, nil
}

// fields returns the only aspect of an occasion, with the names that matchers know.
func fields(names []string, pairs ...any) []aspect {
	a := aspect{names: names, fields: map[string]any{}}
	for n := 0; n+1 < len(pairs); n += 2 {
		name, _ := pairs[n].(string)
		a.fields[name] = pairs[n+1]
	}
	return []aspect{a}
}
