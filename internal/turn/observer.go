package turn

import (
	"context"
	"errors"
	"sync"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/run"
)

func isEmpty(o run.Observer) bool {
	return o.Turn == nil && o.Attempt == nil && o.Output == nil && o.Call == nil
}

// observed is what an observer has been told of one turn.
type observation struct {
	turn *turn

	mu            sync.Mutex // guards what follows
	ends          map[string]func(event.Event)
	earlyEnds     map[string]event.Event // before it was known that they had started
	terminal      event.Event
	closed        bool
	latestAttempt string            // the latest attempt
	firstOutput   func(event.Event) // is told of its first output; nil after that
}

// key names an attempt, a call or, being empty, the turn.
func key(e event.Event) string {
	if e.Item != "" {
		return e.Item
	}
	return e.Attempt
}

// update is Log.Update, whose endings the observer is told of.
func (t *turn) update(f func(event.State) []event.Event) error {
	if t.observation == nil {
		return t.Log.Update(f)
	}
	var events []event.Event
	err := t.Log.Update(func(s event.State) []event.Event {
		events = f(s)
		return events
	})
	if err != nil && !errors.As(err, new(*journal.FailedError)) {
		return err // the log did not take them
	}
	for _, e := range events {
		switch d := e.Data.(type) {
		case event.ItemDelta, event.ItemStarted:
			t.observation.output(e)
		case event.AttemptEnded:
			t.observation.end(e)
		case event.ItemEnded:
			if d.Type == event.ToolCall {
				t.observation.end(e)
			}
		}
		if e.Terminal() {
			t.observation.terminal = e // only the turn's own goroutine writes it
		}
	}
	return err
}

// observe tells the observer that the turn has started, and returns a context
// with the values that it wants there.
func (t *turn) observe(ctx context.Context) context.Context {
	if isEmpty(t.Observer) {
		return ctx
	}
	started := event.Event{V: event.Version, Session: t.session, Turn: t.id}
	t.Log.View(func(s event.State) {
		if running := s.Turn(t.id); running != nil {
			started.Seq, started.At, started.By, started.Data = running.StartSeq, running.StartedAt, running.By, running.Start
		}
	})
	t.observation = &observation{turn: t, ends: map[string]func(event.Event){}, earlyEnds: map[string]event.Event{}}
	return t.observation.start(ctx, started, t.Observer.Turn)
}

// observeAttempt tells the observer of an attempt.
func (t *turn) observeAttempt(ctx context.Context, started event.Event) context.Context {
	if t.observation == nil || started.Seq == 0 {
		return ctx
	}
	ctx = t.observation.start(ctx, started, t.Observer.Attempt)
	if t.Observer.Output != nil {
		t.observation.mu.Lock()
		defer t.observation.mu.Unlock()
		t.observation.latestAttempt = started.Attempt
		t.observation.firstOutput = func(first event.Event) { t.Observer.Output(ctx, started, first) }
	}
	return ctx
}

// observeCall tells the observer of a call.
func (t *turn) observeCall(ctx context.Context, name string, started event.Event) context.Context {
	if t.observation == nil || t.Observer.Call == nil || started.Seq == 0 {
		return ctx
	}
	return t.observation.start(ctx, started, func(ctx context.Context, e event.Event) (context.Context, func(event.Event)) {
		return t.Observer.Call(ctx, name, e)
	})
}

// lineage is the key by which a context shows that it comes from another one.
type lineage struct{}

func (o *observation) start(ctx context.Context, e event.Event, hook func(context.Context, event.Event) (context.Context, func(event.Event))) context.Context {
	if hook == nil {
		return ctx
	}
	o.mu.Lock()
	closed := o.closed
	o.mu.Unlock()
	if closed { // the turn has ended before this goroutine came to say so
		return ctx
	}
	ctx = context.WithValue(ctx, lineage{}, o)
	within := ctx
	var end func(event.Event)
	o.guard(func() { within, end = hook(ctx, e) }) //nolint:fatcontext // it is called once
	o.mu.Lock()
	ended, over := o.earlyEnds[key(e)]
	if !over && end != nil {
		o.ends[key(e)] = end
	}
	o.mu.Unlock()
	if over && end != nil {
		o.guard(func() { end(ended) })
	}
	if within == nil || within.Value(lineage{}) != o { // it would not end with the turn (C9)
		return ctx
	}
	return within
}

// output tells the observer that an attempt has output, if that is its first.
func (o *observation) output(e event.Event) {
	if d, isStart := e.Data.(event.ItemStarted); isStart && d.Type != event.ToolCall {
		return // its text comes later, if any
	}
	o.mu.Lock()
	tell, isFirst := o.firstOutput, e.Attempt == o.latestAttempt && o.firstOutput != nil
	if isFirst {
		o.firstOutput = nil
	}
	o.mu.Unlock()
	if isFirst {
		o.guard(func() { tell(e) })
	}
}

// end tells the observer that an attempt or a call has ended.
func (o *observation) end(e event.Event) {
	o.mu.Lock()
	end, isOpen := o.ends[key(e)]
	delete(o.ends, key(e))
	if !isOpen {
		o.earlyEnds[key(e)] = e
	}
	o.mu.Unlock()
	if isOpen {
		o.guard(func() { end(e) })
	}
}

// close tells the observer that the turn has ended, and before that what the
// log did not take the end of.
func (o *observation) close() {
	if o == nil {
		return
	}
	o.mu.Lock()
	o.closed = true
	turn := o.ends[""]
	delete(o.ends, "")
	left := o.ends
	o.mu.Unlock()
	for name, end := range left {
		o.guard(func() { end(event.Event{V: event.Version, Session: o.turn.session, Turn: o.turn.id, Item: name}) })
	}
	if turn != nil {
		o.guard(func() { turn(o.terminal) })
	}
}

// guard keeps a defect of an observer from the turn.
func (o *observation) guard(f func()) {
	if err := scope.Guard(func() error { f(); return nil }); err != nil {
		o.turn.panicked("an observer panicked")(err)
	}
}
