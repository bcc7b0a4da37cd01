package settle

import (
	"context"

	"github.com/settle-agent/settle/event"
)

// Observer is told what starts in the turns of a host, and how it ended, while
// that happens: for traces and metrics. Each hook is called when the event that
// says that something started is in the log. It returns the context of what has
// started, with values of its own such as a span, and a function that is called
// once, with the event that says how it ended. Either may be nil.
//
//	Turn     turn.started … turn.completed, turn.aborted, turn.failed
//	Attempt  attempt.started … attempt.ended     one request to the model, within a turn
//	Call     call.started … item.ended           one tool call, within a turn
//
// The context of a Turn is that from which those of its attempts and calls are
// made. That of an Attempt reaches [model.Provider], and by it the HTTP client,
// that of a Call reaches the tool. A context that does not come from the one that
// the hook was given is not used.
//
// The events have the ids of session, turn, attempt and item, and times. Their
// data have the rest: provider and model ([event.TurnStarted],
// [event.AttemptStarted]), usage, stop reason and failure ([event.AttemptEnded]),
// status, effects and exit code of a call ([event.ItemEnded]), cause and usage of
// a turn ([event.TurnCompleted], [event.TurnAborted], [event.TurnFailed]). Where
// the log took no ending, since it was closed by force, Data is nil.
//
// Hooks are called by several goroutines, and what they take, the turn waits for.
// A hook that panics is logged. What an Observer does not use costs nothing; more
// than this is in [Session.Events].
type Observer struct {
	Turn    func(ctx context.Context, started event.Event) (context.Context, func(ended event.Event))
	Attempt func(ctx context.Context, started event.Event) (context.Context, func(ended event.Event))
	// Call is also given the tool's name.
	Call func(ctx context.Context, tool string, started event.Event) (context.Context, func(ended event.Event))
}
