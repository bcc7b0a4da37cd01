package turn

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/model"
)

// retryDelay means that another attempt is due after the delay, with the fallback model if
// fallback is set.
type retryDelay struct {
	delay    time.Duration
	fallback bool
}

// pumpBuffer is the number of chunks that can wait between the pump and the turn.
const pumpBuffer = 16

// streamItem is one value from the pump of a stream: a chunk, or the error that ended the
// stream. If ended is set, the stream ended without an error.
type streamItem struct {
	chunk model.Chunk
	err   error
	ended bool
}

// items are values that wait in no pump: a slow stream has one, a fast one pumpBuffer.
var items = sync.Pool{New: func() any { return new(streamItem) }}

// newItem returns a value with the chunk. Its receiver frees it.
func newItem(chunk *model.Chunk) *streamItem {
	r := items.Get().(*streamItem)
	r.chunk = *chunk
	return r
}

// free gives the value back, without what it held.
func (r *streamItem) free() {
	*r = streamItem{}
	items.Put(r)
}

// attempt sends one request and reads its response to the end. It returns the stop reason of a
// complete response, the delay before the next attempt, or the error that ends the turn.
func (t *turn) attempt(ctx context.Context, a *attemptSpec) (model.StopReason, *retryDelay, error) {
	leave, err := t.awaitSlot(ctx)
	if err != nil {
		return "", nil, err
	}
	d := t.newDemux(ctx, a)
	request, err := t.startAttempt(ctx, d, a)
	a.attempt = d.attempt
	observed := t.observeAttempt(ctx, &d.started) // also if the journal failed: the attempt still ends
	if err != nil {
		leave()
		return "", nil, err
	}
	return t.endAttempt(ctx, d, t.stream(observed, d, request, leave))
}

// endAttempt ends an attempt whose stream has ended, with the stream's error. It has the same
// results as attempt.
func (t *turn) endAttempt(ctx context.Context, d *demux, err error) (model.StopReason, *retryDelay, error) {
	if err == nil {
		err = d.complete()
	}
	if err == nil {
		t.budget.reset()
		return d.stop, nil, nil
	}
	t.awaitStarts(ctx, d.attempt)
	if ctx.Err() != nil {
		return "", nil, t.cutAttempt(d.end(), interruption(context.Cause(ctx)), context.Cause(ctx))
	}
	return t.failAttempt(d, err)
}

func (t *turn) newDemux(ctx context.Context, a *attemptSpec) *demux {
	return &demux{
		turn: t, ctx: ctx, summary: a.summary != nil, attemptNumber: a.n, open: map[int]*openItem{},
		ids: map[string]bool{},
	}
}

// attemptSpec specifies an attempt: the nth try at a step's response, or at the summary that
// the step needs first.
type attemptSpec struct {
	step, n int
	summary *history.Plan
	attempt string // id of the attempt, once it has started
}

// awaitSlot waits until a request may be sent: for one of the provider's slots, if it limits
// concurrent requests, and for the limiter. Neither wait is part of the attempt. The slot is
// released when the stream has ended.
func (t *turn) awaitSlot(ctx context.Context) (leave func(), err error) {
	leave = func() {}
	if limited, ok := t.Model.Provider.(model.ConcurrencyLimiter); ok {
		if leave, err = limited.Enter(ctx); err != nil {
			return nil, err
		}
	}
	if err := t.Model.Limiter.Wait(ctx, t.Retry.RetryFor); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// startAttempt builds the request, then records the attempt with the waiting inputs that join
// it. It builds without holding the log (C9). If other inputs wait by the time the log is
// updated, it builds the request again.
func (t *turn) startAttempt(ctx context.Context, d *demux, a *attemptSpec) (*model.Request, error) {
	if err := t.Log.Err(); err != nil && ctx.Err() == nil { // otherwise the interrupt came first
		return nil, err
	}
	for try := 1; ctx.Err() == nil; try++ {
		built, joining := t.build(a, try)
		if err := t.checkWindow(a, &built); err != nil {
			return nil, err
		}
		var events []event.Event
		err := t.update(func(s event.State) []event.Event {
			if ctx.Err() != nil || a.summary == nil &&
				!maySend(t.joining(s), joining, try) { // C10: nothing starts after the interrupt
				return nil
			}
			d.attempt = s.NextAttempt()
			started := event.AttemptStarted{
				Step: a.step, N: a.n, Provider: t.target.Provider, Model: t.target.Model,
				MaxTokens: built.MaxTokens, Trimmed: built.Trimmed, Basis: built.Basis,
			}
			if a.summary != nil {
				started.Purpose = event.Compaction
			}
			for _, i := range joining {
				started.Inputs = append(started.Inputs, i.ID)
			}
			events = append(t.changeEvents(built.Changes...), event.Event{
				Turn: t.id, Attempt: d.attempt, Data: started,
			})
			return events
		})
		d.request = built.RequestStats // nothing else of the request is kept
		if len(events) > 0 {
			d.started = events[len(events)-1] // with the fields that the log filled in
		}
		if d.attempt != "" || err != nil && ctx.Err() == nil {
			return &built.Request, err
		}
	}
	return nil, context.Cause(ctx)
}

// maxBuilds is the number of times that a request is built before it is sent although more inputs
// wait. The waiting inputs join the next request.
const maxBuilds = 3

// build builds the next request and returns the inputs that join it.
func (t *turn) build(a *attemptSpec, try int) (built history.BuiltRequest, joining []event.Input) {
	var log history.Log
	t.Log.View(func(s event.State) {
		log = history.LogOf(s)
		if try <= maxBuilds && a.summary == nil {
			joining = t.joining(s)
		}
	})
	if a.summary != nil {
		return history.SummaryRequest(
			log, t.target, t.system(), t.specs(), *a.summary, instruction(a.summary.Summary),
		), nil
	}
	return t.Conversation.Request(log, t.target, t.system(), t.specs(), joining...), joining
}

// system returns the system prompt of the model in use.
func (t *turn) system() string {
	if t.Prompts != nil {
		if text := t.Prompts(t.Model.Prompt); text != "" {
			return text
		}
	}
	return t.System
}

// maySend reports whether a request that these inputs join may be sent now.
func maySend(now, joining []event.Input, try int) bool {
	same := func(a, b event.Input) bool { return a.ID == b.ID }
	return try > maxBuilds || slices.EqualFunc(now, joining, same)
}

// specs returns the tools that the model is offered. Deferred tools are for providers that
// search tools; other models get tools that find them.
func (t *turn) specs() []model.ToolSpec {
	var out []model.ToolSpec
	for _, s := range t.view.Specs() {
		if t.providerSearch && s.Finder || !t.providerSearch && s.Deferred != "" ||
			!t.Tools.Offered(t.view.Name(s.Name)) {
			continue
		}
		out = append(out, model.ToolSpec{
			Name: s.Name, Description: s.Description, Schema: s.Schema, Grammar: s.Grammar, Deferred: s.Deferred,
		})
	}
	return out
}

// changeEvents returns the events of changes of the history.
func (t *turn) changeEvents(changes ...event.HistoryChanged) (out []event.Event) {
	for _, c := range changes {
		out = append(out, event.Event{Turn: t.id, Data: c})
	}
	return out
}

// stream reads the response into d until its terminal event. A goroutine of its own reads the
// stream, so that neither a read that never returns nor a provider that ignores its context
// can delay the turn (C9, C12).
func (t *turn) stream(ctx context.Context, d *demux, request *model.Request, leave func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(errAttemptOver)
	watch := newWatchdog(t.Model.Timeouts)
	defer watch.stop()
	request.Activity = watch.activity
	if t.Redact != nil {
		request.Secret = func(key string) { t.Redact.Add(key) } // C15
	}
	p := &pump{provider: t.Model.Provider, request: request, chunks: make(chan *streamItem, pumpBuffer)}
	// Ends when the stream ends or its context is cancelled. awaitDetached waits for it,
	// within a bound, after the turn has ended.
	t.detached.Go(scope.Shield(t.panicked("a provider panicked"), func() {
		defer leave()
		p.run(ctx)
	}))
	for {
		select {
		case received := <-p.chunks:
			if ended, err := d.takeAll(received, p.chunks, watch); ended {
				return err
			}
		case <-watch.timer.C:
			if len(p.chunks) > 0 { // the turn is late, not the provider
				watch.recheck()
				continue
			}
			if err := t.cutSilent(d.attempt, watch); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// cutSilent returns the error of a stream that the watchdog ends; nil if the stream continues.
func (t *turn) cutSilent(attempt string, watch *watchdog) error {
	switch silent, why := watch.check(); why {
	case cutStall:
		return t.cutStalled(attempt, silent, model.NewError(
			model.ErrStalled, "LLM stream stalled: no tokens received for %s", formatDuration(silent),
		))
	case cutOverdue:
		return t.cutStalled(attempt, silent, model.NewError(
			model.ErrTimeout, "the response was not complete after %s (attempt_timeout)",
			formatDuration(t.Model.Timeouts.Attempt),
		))
	}
	return nil
}

// takeAll processes the received value, with the text that waits behind it, and reports whether the
// stream has ended.
func (d *demux) takeAll(r *streamItem, chunks <-chan *streamItem, watch *watchdog) (ended bool, err error) {
	next := r.join(chunks)
	ended, err = d.take(r, watch)
	r.free()
	if next != nil && !ended {
		ended, err = d.take(next, watch)
		next.free()
	}
	return ended, err
}

// take processes an item of the pump and reports whether the stream has ended.
func (d *demux) take(r *streamItem, watch *watchdog) (ended bool, err error) {
	if r.err != nil || r.ended {
		return true, streamEnd(r.err)
	}
	done, err := d.chunk(&r.chunk)
	if done || err != nil {
		return true, err
	}
	watch.observe(&r.chunk, d.visible())
	return false, nil
}

// cutStalled logs that the watchdog ends an attempt, with the time without progress.
func (t *turn) cutStalled(attempt string, silent time.Duration, err *model.Error) error {
	if l, ok := t.Model.Provider.(model.Locator); ok {
		err.URL = l.URL()
	}
	t.Logger.Warn(err.Message, "turn", t.id, "attempt", attempt, "elapsed", silent)
	return err
}

var errAttemptOver = errors.New("the attempt is over")

// streamEnd returns the error of a stream that ended without its terminal event: the response
// is truncated, even if the stream ended without an error.
func streamEnd(err error) error {
	if err == nil {
		return model.NewError(model.ErrTruncated, "the response ended without its terminal event")
	}
	return err
}

// pump reads a stream in a goroutine of its own. The values that it passes on are in the heap, because a parked
// goroutine keeps its whole stack: with frames of less than 3.2 KB the stack shrinks to 8 KB, else it takes 16 KB.
type pump struct {
	provider model.Provider
	request  *model.Request
	chunks   chan *streamItem
}

// run passes the chunks of the stream on until the stream or ctx ends.
func (p *pump) run(ctx context.Context) {
	end := &streamItem{ended: true}
	defer p.send(ctx, end) // also if the provider ends the goroutine
	var stream iter.Seq2[model.Chunk, error]
	end.err = scope.Guard(func() error {
		request := *p.request
		p.request = nil // only its provider needs it
		stream = p.provider.Stream(ctx, request)
		return nil
	})
	if end.err == nil {
		end.err = scope.Guard(func() error { return p.read(ctx, stream) })
	}
}

// read passes the chunks on until the stream or ctx ends, and returns why.
func (p *pump) read(ctx context.Context, stream iter.Seq2[model.Chunk, error]) error {
	for chunk, err := range stream {
		if err != nil {
			return err
		}
		if !p.send(ctx, newItem(&chunk)) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// send passes a value on, and reports whether it did before ctx ended.
func (p *pump) send(ctx context.Context, item *streamItem) bool {
	select {
	case p.chunks <- item:
		return true
	case <-ctx.Done():
		return false
	}
}

// cutAttempt ends an attempt whose response is incomplete, with its usage, and returns err. If
// the ending cannot be written, cutAttempt returns that error instead, unless err is already
// an error of the journal.
func (t *turn) cutAttempt(end event.AttemptEnded, cause *event.Cause, err error, before ...event.Event) error {
	if failed := t.update(func(s event.State) []event.Event {
		return append(before, event.AttemptEndings(s, cause, end)...)
	}); failed != nil && (err == nil || !errors.As(failed, new(*journal.FailedError))) {
		return failed
	}
	return err
}

// failAttempt ends an attempt that failed and decides whether another one follows.
func (t *turn) failAttempt(d *demux, err error) (model.StopReason, *retryDelay, error) {
	var fault *model.Error
	if !errors.As(err, &fault) {
		if fault = untypedFault(err); fault == nil {
			return "", nil, t.cutAttempt(d.end(), event.Fail(t.failure(err)), err)
		}
	}
	decision := t.decide(fault, d)
	if decision.holdSessions && decision.delay <= t.Retry.RetryFor {
		t.Model.Limiter.Hold(time.Now().Add(decision.delay))
	}
	decision = t.fallBack(fault, decision, d)
	failure := t.failureOfAttempt(fault, decision)
	if !decision.retry {
		t.nameModels(failure)
	}
	end := d.end()
	if decision.retry {
		ms := decision.delay.Milliseconds()
		end.RetryIn = &ms
	}
	var changes []event.Event
	if decision.change != nil {
		changes = t.changeEvents(*decision.change)
	}
	if failed := t.cutAttempt(end, event.Fail(failure), nil, changes...); failed != nil {
		return "", nil, failed
	}
	if !decision.retry {
		return "", nil, event.Fail(failure)
	}
	t.cancelEnded()
	return "", &retryDelay{decision.delay, decision.fallback}, nil
}

// decide returns the decision after a failed attempt. C6: if the provider refused something in the
// history, the next request is degraded.
func (t *turn) decide(fault *model.Error, failed *demux) decision {
	if d := t.budget.retryRenewed(fault); d.retry {
		return d
	}
	if d := t.stopSearching(fault); d.retry {
		return d
	}
	var remedy history.Remedy
	t.Log.View(func(s event.State) { remedy = failed.request.Remedy(s, t.target, fault) })
	if failed.summary && failed.attemptNumber >= maxBuilds { // a summary of less history is tried instead
		remedy.Retry = false
	}
	if remedy.FirstTime {
		if d := t.budget.retryRefusal(fault); d.retry {
			return d
		}
	}
	var d decision
	if remedy.Retry {
		d = t.budget.degrade()
	} else {
		d = t.budget.decide(fault, time.Now())
	}
	d.change, d.note = remedy.Change, remedy.Note
	return d
}

// untypedFault returns a fault for an error that the provider did not type. It keeps the
// message and is retried as a connection fault. Panics and errors of the log are not faults of
// the provider: it returns nil.
func untypedFault(err error) *model.Error {
	var order *event.OrderError
	if failureOf(err).Name != event.NameInternal || errors.As(err, &order) || errors.Is(err, journal.ErrClosed) {
		return nil
	}
	return model.NewError(model.ErrConnection, "%w", err)
}

// formatDuration formats a duration for people: "3 minutes", "1.5 seconds".
func formatDuration(d time.Duration) string {
	count := func(n float64, unit string) string {
		s := fmt.Sprintf("%g %s", n, unit)
		if n != 1 {
			s += "s"
		}
		return s
	}
	minutes, rest := d.Truncate(time.Minute), d%time.Minute
	switch {
	case d < time.Minute:
		return count(d.Round(time.Millisecond).Seconds(), "second")
	case rest < time.Second:
		return count(minutes.Minutes(), "minute")
	}
	return count(minutes.Minutes(), "minute") + " " + count(rest.Truncate(time.Second).Seconds(), "second")
}
