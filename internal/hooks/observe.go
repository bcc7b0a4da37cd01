package hooks

import (
	"context"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/scope"
)

// After runs the hooks after a call. A Verdict that denies is for the model; it undoes
// nothing.
func (s *Set) After(ctx context.Context, c Call, e Ended) (Verdict, error) {
	return s.fire(ctx, func() *occasion {
		aspects, response := s.aspects(c), s.response(c, e)
		for _, a := range aspects {
			a.fields["tool_response"] = response
		}
		return &occasion{event: event.HookAfter, turn: c.Turn, item: c.Item, aspects: aspects}
	}, event.HookAfter)
}

// Start runs the hooks of the session's start and after a compaction. source is startup,
// resume or compact.
func (s *Set) Start(ctx context.Context, turn, source string) (Verdict, error) {
	return s.fire(ctx, func() *occasion {
		return &occasion{event: event.HookSessionStart, turn: turn, aspects: fields([]string{source}, "source", source)}
	}, event.HookSessionStart)
}

// End runs the hooks of the session's end, when no turn runs any more.
func (s *Set) End(ctx context.Context, reason string) {
	_, _ = s.fire(ctx, func() *occasion {
		return &occasion{event: event.HookSessionEnd, aspects: fields([]string{reason}, "reason", reason)}
	}, event.HookSessionEnd)
}

// Stop runs the hooks of a turn's end. A Verdict that denies continues the turn, with its
// reason for the model. active means that a hook has continued the turn before.
func (s *Set) Stop(ctx context.Context, turn, answer string, active bool) (Verdict, error) {
	e := s.stop()
	return s.fire(ctx, func() *occasion {
		return &occasion{
			event: e, turn: turn, aspects: fields(nil, "stop_hook_active", active, "last_assistant_message", answer),
		}
	}, e)
}

// stop returns the occasion of a turn's end.
func (s *Set) stop() event.HookEvent {
	if s != nil && s.Child {
		return event.HookChildStop
	}
	return event.HookStop
}

// Compact runs the hooks before a compaction. trigger is manual or auto.
func (s *Set) Compact(ctx context.Context, turn, trigger string) (Verdict, error) {
	return s.fire(ctx, func() *occasion {
		return &occasion{
			event: event.HookCompact, turn: turn,
			aspects: fields([]string{trigger}, "trigger", trigger, "custom_instructions", ""),
		}
	}, event.HookCompact)
}

// The types of notifications, as Claude Code names them.
const (
	notifyPermission = "permission_prompt"
	notifyForm       = "elicitation_dialog"
)

// Notify runs the hooks of an open request for approval. It returns at once. The returned
// function ends the hooks, when the request has its answer.
func (s *Set) Notify(ctx context.Context, c Call, message string) (end func()) {
	return s.notify(ctx, c, notifyPermission, message, c.waits)
}

// NotifyForm is [Set.Notify] for the questions of a call that runs.
func (s *Set) NotifyForm(ctx context.Context, c Call, message string) (end func()) {
	return s.notify(ctx, c, notifyForm, message, c.open)
}

func (s *Set) notify(
	ctx context.Context, c Call, kind, message string, open func(event.State) bool,
) (end func()) {
	if !s.On(event.HookNotification) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	// Ends with its hooks, soon after ctx; end waits for it.
	go scope.Shield(scope.Log(s.Logger, s.Redact.Diagnostic, "a notification hook panicked"), func() {
		defer close(done)
		_, _ = s.fire(ctx, func() *occasion {
			return &occasion{event: event.HookNotification, turn: c.Turn, item: c.Item, open: open, aspects: fields(
				[]string{kind}, "notification_type", kind, "message", message,
				"title", "settle")}
		}, event.HookNotification)
	})()
	return func() {
		cancel()
		<-done
	}
}
