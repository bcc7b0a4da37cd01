package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/hooks"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/tool/plan"
)

// byHook names the policy of a hook's answer.
const byHook = "hook"

// WithHooks sets the hooks that run before a request for approval and while one is open.
func (a *Approvals) WithHooks(h *hooks.Set) *Approvals {
	a.hooks = h
	return a
}

// applyHooks applies the decision of earlier hooks to a judgement. A hook may require approval
// of an allowed call. Only the user's own hook may allow a call that needs approval, and no
// hook may allow a denied call.
func applyHooks(ctx context.Context, j approval.Judgement) approval.Judgement {
	decision, why := turn.Hooked(ctx)
	if decision == event.Ask { // the hook wants a person
		j.Review = false
	}
	switch {
	case j.Rule == plan.ProposeName: // only a person accepts a plan
	case decision == event.Ask && j.Decision == event.Allow:
		j.Decision, j.Rule, j.Why = event.Ask, byHook, cmp.Or(why, "a hook asks")
	case decision == event.Allow && j.Decision == event.Ask:
		j.Decision, j.Rule, j.Why = event.Allow, byHook, why
	}
	return j
}

// askHooks runs the hooks of a request for approval. An error refuses the call. If allowed is
// false and err is nil, a person or an Approver decides.
func (a *Approvals) askHooks(ctx context.Context, call approval.Call) (allowed bool, err error) {
	v, err := a.hooks.Permit(ctx, hookCall(call))
	switch {
	case err != nil:
		return false, err
	case v.Denied():
		return false, &approval.DeniedError{
			Policy:  byHook,
			Message: fmt.Sprintf("A hook did not allow this call of %q: %s", call.Tool.Name, v.Reason),
		}
	}
	return v.Decision == event.Allow && !isPlan(call), nil
}

// notifyHooks runs the hooks of an open request until the returned function is called.
func (a *Approvals) notifyHooks(ctx context.Context, call approval.Call) (end func()) {
	return a.hooks.Notify(ctx, hookCall(call), fmt.Sprintf(
		"settle needs your permission to use %s: %s", call.Tool.Name, call.Title,
	))
}

func hookCall(call approval.Call) hooks.Call {
	return hooks.Call{
		Turn: call.Turn, Item: call.Item, Tool: call.Tool.Name, Arguments: call.Arguments, Title: call.Title,
	}
}

// endHooks are the running hooks of the session's end. A nil endHooks has none.
type endHooks struct {
	finished chan struct{}      // closed when the hooks have ended
	stop     context.CancelFunc // ends the hooks
}

func (t *endHooks) done() <-chan struct{} {
	if t == nil {
		return nil
	}
	return t.finished
}

// cancel ends the running hooks.
func (t *endHooks) cancel() {
	if t != nil {
		t.stop()
	}
}

// hookMargin is the part of the close deadline that is kept for the work after the hooks.
const hookMargin = 300 * time.Millisecond

// closeAfterHooks runs the hooks of the session's end and then closes the session. No turn
// runs any more. The hooks end before the callers of Close give up, and an interrupt ends them
// (C9).
func (s *Session) closeAfterHooks() {
	if s.endHooks != nil {
		return
	}
	if !s.runsEndHooks() {
		s.finish()
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	if !s.closeBy.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, s.closeBy.Add(-hookMargin))
	}
	s.endHooks = &endHooks{make(chan struct{}), cancel}
	done := s.endHooks.finished
	// The actor waits for it.
	go scope.Shield(s.panicked, func() {
		defer close(done)
		s.config.Turn.Hooks.End(ctx, "other")
	})()
}

// runsEndHooks reports whether the hooks of the session's end run: only if a turn has run
// since the session was opened.
func (s *Session) runsEndHooks() (worked bool) {
	hooks := s.config.Turn.Hooks
	if !hooks.On(event.HookSessionEnd) || hooks.Child || s.log().Err() != nil {
		return false
	}
	s.log().View(func(state event.State) {
		worked = state.Open && slices.ContainsFunc(
			state.Turns, func(t *event.Turn) bool { return t.StartSeq > state.HostSeq },
		)
	})
	return worked
}
