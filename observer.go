package settle

import (
	"context"

	"github.com/settle-agent/settle/event"
)

// Observer has hooks for traces and metrics of a host's turns. A hook is called when
// something has started, with the event of that, which is in the log. It returns
// a context for what has started, for example one with a span, and a function that
// is called once, with the event that ends it. Either can be nil.
//
//	Turn     turn.started … turn.completed, turn.aborted, turn.failed
//	Attempt  attempt.started … attempt.ended     one request to the model, within a turn
//	Call     call.started … item.ended           one tool call, within a turn
//
// Output is called at most once for each attempt, between its start and its end: with
// the first event that has output of the model, an item.delta or the item.started of a
// tool call. Its context is the one that Attempt returned.
//
// The contexts of attempts and calls are made from that of their turn. The context of
// an attempt is passed to the [model.Provider] and to its HTTP client, that of a
// call to the tool. A hook must make its context from the one that it gets;
// any other is ignored.
//
// The events have the ids of session, turn, attempt and item, and times. Their
// data has the rest: provider and model ([event.TurnStarted],
// [event.AttemptStarted]), usage, stop reason and failure ([event.AttemptEnded]),
// status, effects and exit code of a call ([event.ItemEnded]), cause and usage of
// a turn ([event.TurnCompleted], [event.TurnAborted], [event.TurnFailed]). Data is
// nil if the log could not take the ending.
//
// Hooks are called by several goroutines, and a turn waits for them. When
// [Session.Interrupt], [Session.Close] or [Host.Close] returns, the hooks of the
// turns that ended have returned; [Turn.Wait] does not wait for them. A panic in a
// hook is logged. Hooks that are not set cost nothing. [Session.Events] has
// everything else.
type Observer struct {
	Turn    func(ctx context.Context, started event.Event) (context.Context, func(ended event.Event))
	Attempt func(ctx context.Context, started event.Event) (context.Context, func(ended event.Event))
	Output  func(ctx context.Context, started, first event.Event)
	// Call is also given the tool's name.
	Call func(ctx context.Context, tool string, started event.Event) (context.Context, func(ended event.Event))
}
