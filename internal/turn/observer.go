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

// observation is the state of one turn's observer.
type observation struct {
	turn *turn

	mu            sync.Mutex // guards the fields below
	ends          map[string]func(event.Event)
	earlyEnds     map[string]event.Event // ends that came before their starts
	terminal      event.Event
	closed        bool
	latestAttempt string            // id of the latest attempt
	firstOutput   func(event.Event) // called with the attempt's first output; nil after that
}

// key returns the id of a call or an attempt; empty for the turn.
func key(e event.Event) string {
	if e.Item != "" {
		return e.Item
	}
	return e.Attempt
}

// update is Log.Update that also reports endings to the observer.
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
		return err // the log did not accept the events
	}
	for i := range events {
		t.observation.report(&events[i])
	}
	return err
}

// report reports an event that the log accepted to the observer.
func (o *observation) report(e *event.Event) {
	switch d := e.Data.(type) {
	case event.ItemDelta, event.ItemStarted:
		o.output(e)
	case event.AttemptEnded:
		o.end(*e)
	case event.ItemEnded:
		if d.Type == event.ToolCall {
			o.end(*e)
		}
	}
	if e.Terminal() {
		o.terminal = *e // only the turn's own goroutine writes it
	}
}

// observe reports the turn's start to the observer, and returns the observer's context.
func (t *turn) observe(ctx context.Context) context.Context {
	if isEmpty(t.Observer) {
		return ctx
	}
	started := event.Event{V: event.Version, Session: t.session, Turn: t.id}
	t.Log.View(func(s event.State) {
		if running := s.Turn(t.id); running != nil {
			started.Seq, started.At = running.StartSeq, running.StartedAt
			started.By, started.Data = running.By, running.Start
		}
	})
	t.observation = &observation{turn: t, ends: map[string]func(event.Event){}, earlyEnds: map[string]event.Event{}}
	return t.observation.start(ctx, started, t.Observer.Turn)
}

// observeAttempt reports an attempt's start to the observer.
func (t *turn) observeAttempt(ctx context.Context, start *event.Event) context.Context {
	if t.observation == nil || start.Seq == 0 {
		return ctx
	}
	started := *start
	ctx = t.observation.start(ctx, started, t.Observer.Attempt)
	if t.Observer.Output != nil {
		t.observation.mu.Lock()
		defer t.observation.mu.Unlock()
		t.observation.latestAttempt = started.Attempt
		t.observation.firstOutput = func(first event.Event) { t.Observer.Output(ctx, started, first) }
	}
	return ctx
}

// observeCall reports a call's start to the observer.
func (t *turn) observeCall(ctx context.Context, name string, started event.Event) context.Context {
	if t.observation == nil || t.Observer.Call == nil || started.Seq == 0 {
		return ctx
	}
	hook := func(ctx context.Context, e event.Event) (context.Context, func(event.Event)) {
		return t.Observer.Call(ctx, name, e)
	}
	return t.observation.start(ctx, started, hook)
}

// lineage is the context key that proves that a context was made from another one.
type lineage struct{}

func (o *observation) start(
	ctx context.Context, e event.Event, hook func(context.Context, event.Event) (context.Context, func(event.Event)),
) context.Context {
	if hook == nil {
		return ctx
	}
	o.mu.Lock()
	closed := o.closed
	o.mu.Unlock()
	if closed { // the turn ended before this goroutine reported the start
		return ctx
	}
	ctx = context.WithValue(ctx, lineage{}, o)
	within := ctx
	var end func(event.Event)
	o.guard(func() { within, end = hook(ctx, e) }) //nolint:fatcontext // it is called once
	o.mu.Lock()
	ended, early := o.earlyEnds[key(e)]
	if !early && end != nil {
		o.ends[key(e)] = end
	}
	o.mu.Unlock()
	if early && end != nil {
		o.guard(func() { end(ended) })
	}
	if within == nil || within.Value(lineage{}) != o { // a foreign context would not end with the turn (C9)
		return ctx
	}
	return within
}

// output reports the first output of an attempt to the observer.
func (o *observation) output(e *event.Event) {
	if d, isStart := e.Data.(event.ItemStarted); isStart && d.Type != event.ToolCall {
		return // its text follows, if any
	}
	o.mu.Lock()
	tell, isFirst := o.firstOutput, e.Attempt == o.latestAttempt && o.firstOutput != nil
	if isFirst {
		o.firstOutput = nil
	}
	o.mu.Unlock()
	if isFirst {
		o.guard(func() { tell(*e) })
	}
}

// end reports the end of an attempt or a call to the observer.
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

// close reports the turn's end to the observer, after the ends that the log did not accept.
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

// guard logs a panic of the observer, so that the turn continues.
func (o *observation) guard(f func()) {
	if err := scope.Guard(func() error { f(); return nil }); err != nil {
		o.turn.panicked("an observer panicked")(err)
	}
}
