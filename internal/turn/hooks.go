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

// byHook is who ends a turn for a hook, or takes an input back, and the policy that
// refuses a call for one.
const byHook = "hook"

// mostBlocks is how often in a row hooks may have the model go on at a turn's end.
const maxStopRefusals = 8

// hooked is what hooks have said of a call.
type hookResult struct {
	arguments string           // that the call runs with instead; empty for its own
	decision  event.Permission // ask or allow, beyond what the policy says
	why       string
	notes     []string // for the model
	stop      bool     // the turn is to end
	stopWhy   string
}

func (h *hookResult) add(v hooks.Verdict) {
	h.notes = append(h.notes, v.Context...)
	if v.Stop && !h.stop {
		h.stop, h.stopWhy = true, v.Why
	}
}

// hookKey is the key of what hooks have said of a call, in the context of its approval.
type hookKey struct{}

// context is ctx with what hooks have said.
func (h *hookResult) context(ctx context.Context) context.Context {
	if h.decision == "" {
		return ctx
	}
	return context.WithValue(ctx, hookKey{}, h)
}

// Hooked returns what hooks have said of the call that an Approver is asked about: ask,
// allow, or nothing.
func Hooked(ctx context.Context) (decision event.Permission, why string) {
	if h, ok := ctx.Value(hookKey{}).(*hookResult); ok {
		return h.decision, h.why
	}
	return "", ""
}

func (c *call) forHooks() hooks.Call {
	return hooks.Call{Turn: c.turn.id, Item: c.item, Tool: c.name, Arguments: c.args, Title: c.title()}
}

// askHooks asks the gates about the call, and takes what they make of it.
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
		return refusedByHook(c.name, "it asks for somebody's word, and nobody can be asked")
	}
	return nil
}

func refusedByHook(tool, reason string) error {
	return &approval.DeniedError{Policy: byHook, Message: fmt.Sprintf("A hook of the user did not allow this call of %q: %s", tool, reason)}
}

// tellHooks tells the hooks how the call ended, and keeps what they say of that.
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

// heard tells the model what hooks have said of the calls, in the order of the
// calls, and ends the turn where a hook asks for that.
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

// hookNotes tells the model texts of hooks. C21: they come after all that it knows.
func (t *turn) hookNotes(texts []string) error {
	for _, text := range texts {
		if err := t.note("[From a hook of the user]\n" + text); err != nil {
			return err
		}
	}
	return nil
}

// stoppedByHook is the end of a turn that a hook asked for.
func stoppedByHook(why string) error {
	cause := event.Abort(event.Interrupted, byHook)
	cause.Message = why
	return cause
}

// opening runs the hooks of the session's start, if this is its first work since it
// was opened, and has the gates asked about the inputs that the model will see.
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

// source says for what the hooks of the session's start are due; empty if they ran.
func (t *turn) source() (source string) {
	if !t.Hooks.On(event.HookSessionStart) || t.Hooks.Child {
		return ""
	}
	source = "startup"
	t.Log.View(func(s event.State) {
		for _, other := range s.Turns {
			if other.StartSeq < s.HostSeq {
				source = "resume"
			} else if slices.ContainsFunc(other.Hooks, func(h *event.Hook) bool {
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

// unasked are the inputs that the next request would be the first to tell, and that
// no gate was asked about: those of the turn, and of turns before it that were
// interrupted before they asked the model.
func (t *turn) uncheckedInputs() (list []event.Input) {
	t.Log.View(func(s event.State) {
		for _, other := range slices.Backward(s.Turns) {
			if other.ID != t.id && len(other.Attempts) > 0 {
				return
			}
			for _, in := range slices.Backward(other.Inputs) {
				if !in.Command && !in.Asked() {
					list = append(list, in)
				}
			}
		}
	})
	slices.Reverse(list)
	return list
}

// hasInput reports whether the model is told an input of the turn.
func (t *turn) hasInput() (has bool) {
	t.Log.View(func(s event.State) {
		if r := s.Turn(t.id); r != nil {
			has = slices.ContainsFunc(r.Inputs, func(in event.Input) bool { return !in.Command && !in.Kept() })
		}
	})
	return has
}

// prompt asks the gates about an input, and tells the model what they add.
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

// admitSteering asks the gates about the inputs that would join the turn; what they
// refuse is dropped.
func (t *turn) admitSteering(ctx context.Context) error {
	if !t.Hooks.On(event.HookPrompt) {
		return nil
	}
	for {
		var in event.Input
		t.Log.View(func(s event.State) {
			for _, waiting := range steeringInputs(s) {
				if in.ID == "" && !waiting.Asked() {
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

// joining are the inputs that may join the turn at its next request.
func (t *turn) joining(s event.State) []event.Input {
	list := steeringInputs(s)
	if !t.Hooks.On(event.HookPrompt) {
		return list
	}
	return slices.DeleteFunc(list, func(in event.Input) bool { return !in.Asked() || in.Kept() })
}

// askToStop asks the hooks whether the turn may complete, where nothing else keeps it
// from that, and reports whether it goes on.
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
		busy = len(steeringInputs(s)) > 0 || len(s.News()) > 0
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

// compactFor compacts the history, with the hooks before and after that.
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
