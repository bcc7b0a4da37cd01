package proof

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/run"
	"github.com/settle-agent/settle/tool"
)

// place is a boundary: code behind it is not the host's, and can panic.
type place string

// The boundaries.
const (
	inTool         place = "tool"
	inProvider     place = "provider"
	inObserver     place = "observer"
	inObserverEnd  place = "end of an observer"
	inJudge        place = "judge"
	inHook         place = "hook"
	inInstructions place = "instructions"
	inCommand      place = "command"
	inCallback     place = "callback" // of the embedding program, at a turn's end
	inFrontend     place = "frontend"
)

// places are all of them.
func places() []place {
	return []place{
		inTool,
		inProvider,
		inObserver,
		inObserverEnd,
		inJudge,
		inHook,
		inInstructions,
		inCommand,
		inCallback,
		inFrontend,
	}
}

// bomb panics once, at a boundary, when the log has so many events. A nil bomb never
// does.
type bomb struct {
	place place
	at    int
	fired atomic.Bool
}

// pass is called by all code that is behind a boundary.
func (w *world) pass(at place) {
	if b := w.bomb; b != nil && b.place == at && w.disk.len() >= b.at && b.fired.CompareAndSwap(false, true) {
		panic("at the boundary: " + Secret)
	}
}

// observed has the turns of a process observed, and its other callbacks called, where
// they can panic.
func (w *world) observed(c turn.Config) turn.Config {
	if w.bomb == nil {
		return c
	}
	hook := func(ctx context.Context, _ event.Event) (context.Context, func(event.Event)) {
		w.pass(inObserver)
		return ctx, func(event.Event) { w.pass(inObserverEnd) }
	}
	c.Observer = run.Observer{
		Turn: hook, Attempt: hook,
		Output: func(context.Context, event.Event, event.Event) { w.pass(inObserver) },
		Call: func(ctx context.Context, _ string, e event.Event) (context.Context, func(event.Event)) {
			return hook(ctx, e)
		},
	}
	c.Instructions = func(string, []event.Content) []run.Instruction {
		w.pass(inInstructions)
		return nil
	}
	return c
}

// panicking is a provider that can panic before its stream, within and after it.
type panicking struct {
	witness
	world *world
}

// Stream implements [model.Provider].
func (p panicking) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		p.world.pass(inProvider)
		for c, err := range p.witness.Stream(ctx, r) {
			p.world.pass(inProvider)
			if !yield(c, err) {
				return
			}
		}
		p.world.pass(inProvider)
	}
}

// progress is the call's, behind which the tool can panic.
func (w *world) progress(c tool.Call) func(string) {
	return func(text string) {
		c.Progress(text)
		w.pass(inTool)
	}
}

// front has a frontend look at the log, and reports whether that has panicked.
func (w *world) front(p *process) (panicked bool) {
	scope.Shield(func(error) { panicked = true }, func() {
		p.log.View(func(event.State) { w.pass(inFrontend) }) // under the log's lock
	})()
	return panicked
}
