package hooks

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/settle-agent/settle/event"
)

// Bounds of the rounds in which hooks change a call: maxRounds for changes of each other's arguments, and maxFiles
// more for a hook that changes a patch for each of its files.
const (
	maxRounds = 4
	maxFiles  = 16
)

// change is a change of a call's arguments by a hook.
type change struct {
	hook      *hook // nil for no change
	arguments string
	// keys are the aspects about which the hook gave these arguments, or earlier ones without a change by another
	// hook in between.
	keys map[string]bool
}

// knows reports whether the hook itself changed the call, because of this aspect.
func (c change) knows(h *hook, key string) bool { return h == c.hook && c.keys[key] }

// Before runs the blocking hooks of a call before the call runs. If one of them changes the
// call, the others run again, so that each has seen the final call. The hook itself runs again
// for the aspects about which it gave other arguments. The error is the cause of ctx, or means
// that the call has ended; in both cases the call must not run.
func (s *Set) Before(ctx context.Context, c Call) (Verdict, error) {
	if !s.On(event.HookBefore) {
		return Verdict{}, nil
	}
	var opinions []opinion
	var last change
	original, aspects := c.Arguments, s.aspects(c)
	for range maxRounds + min(len(aspects)-1, maxFiles) {
		o := &occasion{event: event.HookBefore, turn: c.Turn, item: c.Item, aspects: aspects, open: c.waits}
		round, err := s.opinions(ctx, o, func(h *hook, a aspect) bool { return !last.knows(h, a.key) })
		if err != nil {
			return Verdict{Decision: event.Deny}, err
		}
		opinions = replaced(opinions, round, last)
		v, next := combine(aspects, opinions), last.next(round)
		if next.hook == nil || v.Denied() {
			if c.Arguments != original {
				v.Arguments = c.Arguments
			}
			return v, nil
		}
		last, c.Arguments = next, next.arguments
		withdraw(opinions, last)
		aspects = s.aspects(c)
	}
	return Verdict{Decision: event.Deny, Reason: fmt.Sprintf("hooks keep changing the arguments of %q", c.Tool)}, nil
}

// next returns the first change in a round.
func (c change) next(round []opinion) (next change) {
	for _, o := range round {
		if o.Arguments == "" {
			continue
		}
		if next.hook == nil {
			next = change{o.hook, o.Arguments, map[string]bool{}}
			if o.hook == c.hook {
				maps.Copy(next.keys, c.keys)
			}
		}
		if o.hook == next.hook && o.Arguments == next.arguments {
			next.keys[o.key] = true
		}
	}
	return next
}

// replaced replaces the opinions of the hooks that ran in a round. It keeps the opinions of the
// hook that made the last change on the aspects that this hook knows. The opinions are in the order
// of the configuration.
func replaced(opinions, round []opinion, last change) []opinion {
	opinions = slices.DeleteFunc(opinions, func(o opinion) bool {
		ran := func(r opinion) bool { return r.hook == o.hook }
		return !last.knows(o.hook, o.key) && slices.ContainsFunc(round, ran)
	})
	opinions = append(opinions, round...)
	slices.SortStableFunc(opinions, func(a, b opinion) int { return a.hook.position - b.hook.position })
	return opinions
}

// withdraw removes the permissions that other hooks gave before a change. Hooks that match the
// changed call run again; the others have not seen it.
func withdraw(opinions []opinion, by change) {
	for n, o := range opinions {
		if o.hook != by.hook && o.Decision == event.Allow {
			opinions[n].Decision = ""
		}
	}
}

// opinions runs the hooks of an occasion for which wanted returns true; all hooks if wanted is nil.
func (s *Set) opinions(ctx context.Context, o *occasion, wanted func(*hook, aspect) bool) ([]opinion, error) {
	runs := s.matching(o, wanted)
	if len(runs) == 0 {
		return nil, nil
	}
	all, err := s.runAll(ctx, o, runs)
	if err != nil {
		return nil, err
	}
	list := make([]opinion, len(runs))
	for n, r := range runs {
		list[n] = opinion{r.hook, r.aspect.key, all[n]}
	}
	return list, nil
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
	if !s.On(e) {
		return Verdict{}, nil
	}
	o := about()
	opinions, err := s.opinions(ctx, o, nil)
	if err != nil {
		return Verdict{Decision: event.Deny}, err
	}
	return combine(o.aspects, opinions), nil
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
