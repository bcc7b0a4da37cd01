package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/hooks"
)

// byHook is the sender of endings and drops that a hook causes, and the policy of calls that a
// hook refuses.
const byHook = "hook"

// maxStopRefusals bounds how often in a row hooks may refuse the end of a turn.
const maxStopRefusals = 8

// hookResult is the combined result of all hooks about one call.
type hookResult struct {
	arguments string           // replace the call's arguments; empty for no change
	decision  event.Permission // ask or allow, in addition to the policy
	why       string
	notes     []string // for the model
	stop      bool     // ends the turn
	stopWhy   string
}

func (h *hookResult) add(v hooks.Verdict) {
	h.notes = append(h.notes, v.Context...)
	if v.Stop && !h.stop {
		h.stop, h.stopWhy = true, v.Why
	}
}

// hookKey is the context key of a call's hookResult.
type hookKey struct{}

// context returns ctx with the hooks' decision.
func (h *hookResult) context(ctx context.Context) context.Context {
	if h.decision == "" {
		return ctx
	}
	return context.WithValue(ctx, hookKey{}, h)
}

// Hooked returns the decision of hooks about the call whose approval has the context ctx: ask,
// allow, or empty.
func Hooked(ctx context.Context) (decision event.Permission, why string) {
	if h, ok := ctx.Value(hookKey{}).(*hookResult); ok {
		return h.decision, h.why
	}
	return "", ""
}

func (c *call) forHooks() hooks.Call {
	return hooks.Call{Turn: c.turn.id, Item: c.item, Tool: c.name, Arguments: c.args, Title: c.title()}
}

// runBeforeHooks runs the blocking hooks of the call and applies their changes.
func (c *call) runBeforeHooks(ctx context.Context) error {
	t := c.turn
	if !t.Hooks.On(event.HookBefore) {
		return nil
	}
	v, err := t.Hooks.Before(ctx, c.forHooks())
	if err != nil {
		return err
	}
	c.hookResult.add(v)
	if v.Denied() {
		return refusedByHook(c.name, v.Reason)
	}
	if v.Arguments != "" {
		if err := t.Tools.Check(c.name, json.RawMessage(v.Arguments)); err != nil {
			return refusedByHook(c.name, fmt.Sprintf("it changed the call into one that is not valid: %v", err))
		}
		c.args, c.hookResult.arguments = v.Arguments, v.Arguments
	}
	c.hookResult.decision, c.hookResult.why = v.Decision, v.Reason
	if v.Decision == event.Ask && t.Approver == nil {
		return refusedByHook(c.name, "it requires approval, and no person can be asked")
	}
	return nil
}

func refusedByHook(tool, reason string) error {
	return &approval.DeniedError{
		Policy: byHook, Message: fmt.Sprintf("A hook did not allow this call of %q: %s", tool, reason),
	}
}

// runAfterHooks runs the hooks after the call and keeps their notes.
func (c *call) runAfterHooks(ctx context.Context, g toolReturn) {
	t := c.turn
	if c.byPerson || g.result.Aborted || g.result.Unknown || !t.Hooks.On(event.HookAfter) {
		return
	}
	ended := hooks.Ended{Output: g.result.Output, ExitCode: g.result.ExitCode, Failed: g.result.Failed || g.err != nil}
	if g.err != nil {
		ended.Output = g.err.Error()
	}
	ended.Output = bounded(t.Redact.String(ended.Output))
	v, err := t.Hooks.After(ctx, c.forHooks(), ended)
	if err != nil { // the turn ends
		return
	}
	c.hookResult.add(v)
	if v.Denied() {
		c.hookResult.notes = append(c.hookResult.notes, fmt.Sprintf("About the call of %q: %s", c.name, v.Reason))
	}
}

// reportHooks gives the model the notes of hooks about the calls, in the order of the calls,
// and ends the turn if a hook requested that.
func (t *turn) reportHooks(calls []*call) error {
	for _, c := range calls {
		if err := t.hookNotes(c.hookResult.notes); err != nil {
			return err
		}
	}
	for _, c := range calls {
		if c.hookResult.stop {
			return stoppedByHook(c.hookResult.stopWhy)
		}
	}
	return nil
}

// hookNotes gives the model texts of hooks. C21: they follow all that the model has received.
func (t *turn) hookNotes(texts []string) error {
	for _, text := range texts {
		if err := t.note(hooks.NotePrefix + text); err != nil {
			return err
		}
	}
	return nil
}

// stoppedByHook returns the cause of a turn that a hook ended.
func stoppedByHook(why string) error {
	cause := event.Abort(event.Interrupted, byHook)
	cause.Message = why
	return cause
}

// runOpeningHooks runs the hooks of the session's start, if this is the first turn since the
// session was opened, and the blocking hooks of the inputs for the model.
func (t *turn) runOpeningHooks(ctx context.Context) error {
	if source := t.source(); source != "" {
		if err := t.startHooks(ctx, source); err != nil {
			return err
		}
	}
	if !t.Hooks.On(event.HookPrompt) {
		return nil
	}
	var refused *hooks.Verdict
	for _, in := range t.uncheckedInputs() {
		v, err := t.prompt(ctx, in)
		if err != nil {
			return err
		}
		if v.Denied() {
			refused = &v
		}
	}
	if refused != nil && !t.hasInput() {
		return event.Fail(&event.Failure{Name: event.NameHook, Message: "a hook refused the input: " + refused.Reason})
	}
	return nil
}

// source returns why the hooks of the session's start are due; empty if they have run.
func (t *turn) source() (source string) {
	if !t.Hooks.On(event.HookSessionStart) || t.Hooks.Child {
		return ""
	}
	source = "startup"
	t.Log.View(func(s event.State) {
		for _, earlier := range s.Turns {
			if earlier.StartSeq < s.HostSeq {
				source = "resume"
			} else if slices.ContainsFunc(earlier.Hooks, func(h *event.Hook) bool {
				return h.Event == event.HookSessionStart && h.Ended != nil && h.Ended.Outcome != event.Aborted
			}) {
				source = ""
				return
			}
		}
	})
	return source
}

func (t *turn) startHooks(ctx context.Context, source string) error {
	v, err := t.Hooks.Start(ctx, t.id, source)
	if err != nil {
		return err
	}
	if err := t.hookNotes(v.Context); err != nil {
		return err
	}
	if v.Stop {
		return stoppedByHook(v.Why)
	}
	return nil
}

// uncheckedInputs returns the inputs that the next request would show the model first and that
// no blocking hook has checked: the turn's own, and the inputs of earlier turns that were
// interrupted before a request.
func (t *turn) uncheckedInputs() (list []event.Input) {
	t.Log.View(func(s event.State) {
		for _, earlier := range slices.Backward(s.Turns) {
			if earlier.ID != t.id && len(earlier.Attempts) > 0 {
				return
			}
			for _, in := range slices.Backward(earlier.Inputs) {
				if !in.Command && in.HeldCall == nil && !in.HooksAnswered() {
					list = append(list, in)
				}
			}
		}
	})
	slices.Reverse(list)
	return list
}

// hasInput reports whether the model receives an input of the turn.
func (t *turn) hasInput() (has bool) {
	t.Log.View(func(s event.State) {
		if r := s.Turn(t.id); r != nil {
			has = slices.ContainsFunc(r.Inputs, func(in event.Input) bool { return !in.Command && !in.Kept() })
		}
	})
	return has
}

// prompt runs the blocking hooks of an input and gives the model the text that they add.
func (t *turn) prompt(ctx context.Context, in event.Input) (hooks.Verdict, error) {
	v, err := t.Hooks.Prompt(ctx, t.id, in)
	if err != nil {
		return v, err
	}
	if v.Stop {
		return v, stoppedByHook(v.Why)
	}
	if !v.Denied() {
		err = t.hookNotes(v.Context)
	}
	return v, err
}

// admitSteering runs the blocking hooks of the steering inputs and drops the inputs that they
// refuse.
func (t *turn) admitSteering(ctx context.Context) error {
	if !t.Hooks.On(event.HookPrompt) {
		return nil
	}
	for {
		var in event.Input
		t.Log.View(func(s event.State) {
			for _, waiting := range steeringInputs(s) {
				if in.ID == "" && !waiting.HooksAnswered() {
					in = waiting
				}
			}
		})
		if in.ID == "" {
			return nil
		}
		v, err := t.prompt(ctx, in)
		if err != nil {
			return err
		}
		if !v.Denied() {
			continue
		}
		if err := t.update(func(s event.State) []event.Event {
			if !slices.ContainsFunc(s.Waiting, func(i event.Input) bool { return i.ID == in.ID }) {
				return nil
			}
			return []event.Event{{By: byHook, Data: event.InputDropped{Input: in.ID}}}
		}); err != nil {
			return err
		}
	}
}

// joining returns the inputs that may join the turn at its next request.
func (t *turn) joining(s event.State) []event.Input {
	list := steeringInputs(s)
	if !t.Hooks.On(event.HookPrompt) {
		return list
	}
	return slices.DeleteFunc(list, func(in event.Input) bool { return !in.HooksAnswered() || in.Kept() })
}

// runStopHooks runs the hooks of the turn's end, if nothing else continues the turn, and
// reports whether a hook continues it.
func (t *turn) runStopHooks(ctx context.Context) (goesOn bool, err error) {
	e := event.HookStop
	if t.Hooks != nil && t.Hooks.Child {
		e = event.HookChildStop
	}
	if !t.Hooks.On(e) || t.stopRefusals >= maxStopRefusals {
		return false, nil
	}
	answer, busy := "", false
	t.Log.View(func(s event.State) {
		busy = len(steeringInputs(s)) > 0 || len(s.UnreportedChildren()) > 0
		if r := s.Turn(t.id); r != nil {
			answer = r.Answer()
		}
	})
	if busy {
		return false, nil
	}
	v, err := t.Hooks.Stop(ctx, t.id, answer, t.stopRefusals > 0)
	if err != nil {
		return false, err
	}
	if v.Stop || !v.Denied() {
		return false, nil
	}
	t.stopRefusals++
	return true, t.hookNotes([]string{v.Reason})
}

// compactWithHooks compacts the history and runs the hooks before and after that.
func (t *turn) compactWithHooks(ctx context.Context, step int, trigger event.Trigger) error {
	word := "auto"
	if trigger == event.TriggerRequest {
		word = "manual"
	}
	v, err := t.Hooks.Compact(ctx, t.id, word)
	switch {
	case err != nil:
		return err
	case v.Stop:
		return stoppedByHook(v.Why)
	case v.Denied() && trigger == event.TriggerRequest:
		return event.Fail(&event.Failure{Name: event.NameHook, Message: "a hook refused the compaction: " + v.Reason})
	case v.Denied() && trigger == event.TriggerFull:
		t.window.skip = true
		return nil
	}
	if err := t.compact(ctx, step, trigger); err != nil {
		return err
	}
	if t.purpose == event.Compaction || !t.Hooks.On(event.HookSessionStart) || t.Hooks.Child || t.window.skip {
		return nil
	}
	return t.startHooks(ctx, "compact")
}
