package turn

import (
	"context"
	"errors"
	"fmt"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/model"
)

// maxCuts bounds how many responses in a row may be cut at the output limit.
// maxPausedResponses bounds how many the provider may pause in a row so that settle sends them
// back: its own tools may take long, but must end (C9).
const (
	maxCuts            = 3
	maxPausedResponses = 20
)

// work runs steps until a response requests no tool. It returns nil if the turn completed,
// context.Cause(ctx) if it was cancelled, or the error that ends the turn.
func (t *turn) work(ctx context.Context) error {
	if t.purpose == event.Compaction {
		if t.Compaction == CompactionAuto {
			if err := t.guardLimits(1); err != nil {
				return err
			}
		}
		return t.compactWithHooks(ctx, 1, event.TriggerRequest)
	}
	if more, err := t.commands(ctx); err != nil || !more {
		return err
	}
	if err := t.runOpeningHooks(ctx); err != nil {
		return err
	}
	for step := 1; ; step++ {
		if err := t.reportEndedChildren(); err != nil {
			return err
		}
		if err := t.admitSteering(ctx); err != nil {
			return err
		}
		if err := t.remind(); err != nil {
			return err
		}
		stop, calls, err := t.respond(ctx, step)
		if err != nil {
			return err
		}
		if err := await(ctx, calls); err != nil {
			return err
		}
		if err := t.reportHooks(calls); err != nil {
			return err
		}
		retry, err := t.continues(stop)
		if err != nil {
			return err
		}
		if err := t.guardRepeats(calls); err != nil {
			return err
		}
		if err := t.addInstructions(ctx); err != nil {
			return err
		}
		if len(calls) > 0 || retry {
			continue
		}
		if done, err := t.finish(ctx); done || err != nil {
			return err
		}
	}
}

// respond makes attempts until one returns the model's complete response. It returns the
// response's stop reason and calls.
func (t *turn) respond(ctx context.Context, step int) (model.StopReason, []*call, error) {
	for n := 1; ; n++ {
		if err := t.guardLimits(step); err != nil {
			return "", nil, err
		}
		first := len(t.calls)
		stop, retry, err := t.attempt(ctx, &attemptSpec{step: step, n: n})
		// Before the calls are awaited: child agents share the rest of the budget.
		t.count()
		if full := (*fullError)(nil); errors.As(err, &full) { // nothing was sent
			if err := t.compactWithHooks(ctx, step, full.trigger); err != nil {
				return "", nil, err
			}
			if err := t.remind(); err != nil { // the compaction can have removed the reminder
				return "", nil, err
			}
			n--
			continue
		}
		if err != nil || retry == nil {
			return stop, t.calls[first:], err
		}
		// The next attempt continues with the results of the calls that the failed attempt
		// started.
		if err := scope.Sleep(ctx, retry.delay); err != nil {
			return "", nil, err
		}
		if err := await(ctx, t.calls[first:]); err != nil {
			return "", nil, err
		}
		if err := t.reportHooks(t.calls[first:]); err != nil {
			return "", nil, err
		}
		if retry.fallback {
			t.use(t.Model.Fallback)
		}
	}
}

// continues reports whether the model must continue a response that stopped for the given
// reason.
func (t *turn) continues(stop model.StopReason) (bool, error) {
	switch stop {
	case model.StopRefusal, model.StopFilter:
		why := fmt.Sprintf("the model stopped with %q: it or its provider refuses to continue", stop)
		if t.target.RefusalSticks {
			why += "; " + droppedWords
		}
		return false, event.Fail(&event.Failure{Name: event.NameProvider, Kind: string(model.ErrPolicy), Message: why})
	case model.StopMaxTokens:
		t.cutResponses++
		if t.cutResponses > maxCuts {
			return false, event.Fail(&event.Failure{
				Name: event.NameProvider, Kind: "max_tokens",
				Message: fmt.Sprintf(
					"the model's answer was cut at its output limit %d times in a row", t.cutResponses,
				),
			})
		}
		return true, t.note(
			"Your last response was cut at the output limit. Continue where it stopped, in smaller pieces; a tool " +
				"call that was cut did not run.",
		)
	case model.StopPause:
		t.pausedResponses++
		if t.pausedResponses > maxPausedResponses {
			return false, event.Fail(&event.Failure{
				Name: event.NameProvider, Kind: string(stop),
				Message: fmt.Sprintf("the provider paused the model's answer %d times in a row", t.pausedResponses),
			})
		}
		return true, nil
	}
	t.cutResponses, t.pausedResponses = 0, 0
	return false, nil
}

// steeringInputs returns the inputs that join the turn at its next request.
func steeringInputs(s event.State) []event.Input {
	var out []event.Input
	for _, i := range s.Waiting {
		if i.Mode == event.Steer && !i.Held {
			out = append(out, i)
		}
	}
	return out
}

// note adds a message of settle for the model.
func (t *turn) note(text string) error {
	return t.update(func(s event.State) []event.Event {
		id := s.NextItem(0)
		content := event.Content{Type: event.Note, Text: text}
		return []event.Event{
			{Turn: t.id, Item: id, Data: event.ItemStarted{Type: event.Note}},
			{Turn: t.id, Item: id, Data: event.ItemEnded{Status: event.ItemCompleted, Content: content}},
		}
	})
}

// remind gives the model the reminder that is due.
func (t *turn) remind() error {
	if t.Reminder == nil {
		return nil
	}
	var text string
	t.Log.View(func(s event.State) { text = t.Reminder(s) })
	if text == "" {
		return nil
	}
	return t.note(text)
}
