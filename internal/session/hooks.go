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
)

// byHook names the policy by which a hook answers.
const byHook = "hook"

// With has hooks be asked before somebody is, and told when somebody is.
func (a *Approvals) WithHooks(h *hooks.Set) *Approvals {
	a.hooks = h
	return a
}

// hooked is the judgement with what hooks have said of the call before. A hook may
// have somebody asked about what would be allowed; only the user's own allows what
// would be asked about, and none what is denied.
func applyHooks(ctx context.Context, j approval.Judgement) approval.Judgement {
	decision, why := turn.Hooked(ctx)
	switch {
	case decision == event.Ask && j.Decision == event.Allow:
		j.Decision, j.Rule, j.Why = event.Ask, byHook, cmp.Or(why, "a hook asks")
	case decision == event.Allow && j.Decision == event.Ask:
		j.Decision, j.Rule, j.Why = event.Allow, byHook, why
	}
	return j
}

// permitted asks the hooks about a call before somebody is. An error refuses the call;
// where neither, somebody is to be asked.
func (a *Approvals) askHooks(ctx context.Context, call approval.Call) (allowed bool, err error) {
	v, err := a.hooks.Permit(ctx, hookCall(call))
	switch {
	case err != nil:
		return false, err
	case v.Denied():
		return false, &approval.DeniedError{Policy: byHook, Message: fmt.Sprintf("A hook of the user did not allow this call of %q: %s", call.Tool.Name, v.Reason)}
	}
	return v.Decision == event.Allow, nil
}

// notify tells the hooks that somebody is asked, until what it returns is called.
func (a *Approvals) notifyHooks(ctx context.Context, call approval.Call) (end func()) {
	return a.hooks.Notify(ctx, hookCall(call), fmt.Sprintf("settle needs your permission to use %s: %s", call.Tool.Name, call.Title))
}

func hookCall(call approval.Call) hooks.Call {
	return hooks.Call{Turn: call.Turn, Item: call.Item, Tool: call.Tool.Name, Arguments: call.Arguments, Title: call.Title}
}

// telling are the hooks that are told that the session ends. A nil telling has none.
type endHooks struct {
	finished chan struct{}      // closed when they have ended
	stop     context.CancelFunc // ends them
}

func (t *endHooks) done() <-chan struct{} {
	if t == nil {
		return nil
	}
	return t.finished
}

// end ends the hooks that run.
func (t *endHooks) cancel() {
	if t != nil {
		t.stop()
	}
}

// hookMargin is what is kept of the time for the session's end for what comes after
// its hooks.
const hookMargin = 300 * time.Millisecond

// windUp closes the session, in which no turn runs any more, when its hooks were told
// of that. They never hold it up for longer than those wait who close it, and an
// interrupt ends them (C9).
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

// tells reports whether hooks are to be told of the session's end: if a turn has run
// since it was opened.
func (s *Session) runsEndHooks() (worked bool) {
	hooks := s.config.Turn.Hooks
	if !hooks.On(event.HookSessionEnd) || hooks.Child || s.log().Err() != nil {
		return false
	}
	s.log().View(func(state event.State) {
		worked = state.Open && slices.ContainsFunc(state.Turns, func(t *event.Turn) bool { return t.StartSeq > state.HostSeq })
	})
	return worked
}
