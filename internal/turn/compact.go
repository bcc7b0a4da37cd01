package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"

	"github.com/settle-agent/settle/internal/scope"
)

// Compaction selects how settle makes room when the model's window is full.
type Compaction string

// The modes of compaction.
const (
	CompactionOff        Compaction = "off"        // shortens old outputs instead
	CompactionMechanical Compaction = "mechanical" // replaces the older history by a digest from the log
	CompactionAuto       Compaction = "auto"       // adds a summary by the model to the digest
)

const (
	// minCompactionSteps is the minimum number of steps between two compactions of a turn.
	// More frequent compactions do not make enough room.
	minCompactionSteps = 5
	// maxPieces bounds the number of pieces in which a history is summarised.
	maxPieces = 64
)

// windowState is a turn's state about its model's window.
type windowState struct {
	// compactedAt has the step of the last compaction for each trigger.
	compactedAt      map[event.Trigger]int
	instructionBytes int  // bytes of the project's instructions that the model received
	skip             bool // send the next request as it is: compaction would not help
}

// fullError means that the history must be compacted before the next request.
type fullError struct{ trigger event.Trigger }

func (e *fullError) Error() string { return "the model's window is full" }

// checkWindow returns a [fullError] if the history must be compacted before the request is
// sent, or the limit if compaction cannot make enough room.
func (t *turn) checkWindow(a *attemptSpec, b *history.BuiltRequest) error {
	skip := t.window.skip
	t.window.skip = false
	if t.Compaction == "" || t.Compaction == CompactionOff || a.summary != nil || !b.NearlyFull {
		return nil
	}
	if skip && (a.step == 1 && a.n == 1 || !b.Tight()) {
		return nil
	}
	if skip {
		return t.windowFull("compacting the history would not make enough room")
	}
	return &fullError{t.trigger()}
}

// trigger returns why the window counts as full.
func (t *turn) trigger() (trigger event.Trigger) {
	trigger = event.TriggerFull
	t.Log.View(func(s event.State) {
		r := s.Running()
		if n := len(r.Attempts); n > 0 && r.Attempts[n-1].Start.Purpose == "" {
			if end := r.Attempts[n-1].End; end != nil && end.Failure != nil && end.Failure.Kind == kindOverflow {
				trigger = event.TriggerOverflow
			}
		}
	})
	return trigger
}

// compact compacts the history before the step's next request. If compaction would not free
// enough, the next request is sent as it is.
func (t *turn) compact(ctx context.Context, step int, trigger event.Trigger) error {
	if last, ok := t.window.compactedAt[trigger]; ok && step-last < minCompactionSteps {
		return t.windowFull(fmt.Sprintf("it was full again %d steps after the history was compacted", step-last))
	}
	for piece := 1; ; piece++ {
		more, err := t.compactOnce(ctx, step, trigger, piece)
		if err != nil || !more {
			return err
		}
	}
}

// compactOnce compacts as much history as one summary can cover, and reports whether there is
// more.
func (t *turn) compactOnce(ctx context.Context, step int, trigger event.Trigger, piece int) (more bool, err error) {
	plan := t.plan(false)
	change, err := t.change(ctx, plan, trigger, "")
	if err != nil {
		return false, err
	}
	if plan.Removed == 0 || !freesEnough(plan, change, trigger) {
		t.window.skip = true
		return false, nil
	}
	if t.Compaction == CompactionAuto && piece <= maxPieces {
		digest, of, err := t.summarise(ctx, step)
		if err != nil {
			return false, err
		}
		if digest != "" {
			changed, err := t.change(ctx, of, trigger, digest)
			if err != nil {
				return false, err
			}
			if freesEnough(of, changed, trigger) {
				plan, change = of, changed
			}
		}
	}
	change.Piece = plan.Piece && change.Tokens > max(plan.Window/2, 1)
	if err := t.update(func(event.State) []event.Event {
		if ctx.Err() != nil { // C10: nothing starts after the interrupt
			return nil
		}
		return t.changeEvents(change)
	}); err != nil {
		return false, err
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if t.window.compactedAt == nil {
		t.window.compactedAt = map[event.Trigger]int{}
	}
	t.window.compactedAt[trigger] = step
	return change.Piece, nil
}

// freesEnough reports whether the compaction frees enough: a quarter of the window, or
// anything if a client requested the compaction.
func freesEnough(p history.Plan, c event.HistoryChanged, trigger event.Trigger) bool {
	tokens := history.Tokens(c.Summary + c.Digest)
	freed := p.Freed(tokens)
	switch {
	case p.Piece: // so that there are not too many pieces
		return p.Removed-tokens > p.Window/8
	case trigger == event.TriggerRequest:
		return freed > 0
	}
	return freed >= p.Window/4
}

func (t *turn) plan(summary bool) (p history.Plan) {
	var log history.Log
	t.Log.View(func(s event.State) { log = history.LogOf(s) })
	return history.PlanCompaction(log, t.target, t.system(), t.specs(), summary)
}

// change returns the event of a compaction.
func (t *turn) change(
	ctx context.Context, p history.Plan, trigger event.Trigger, summary string,
) (event.HistoryChanged, error) {
	text, err := t.digest(ctx, p)
	if err != nil {
		return event.HistoryChanged{}, err
	}
	c := event.HistoryChanged{
		Change: event.ChangeCompacted, Provider: t.target.Provider, Model: t.target.Model, Trigger: trigger,
		From: p.From, Summary: summary, Digest: text, Before: p.Before,
	}
	c.Tokens = max(p.Before-p.Freed(history.Tokens(summary+text)), 0)
	c.Why = fmt.Sprintf(
		"the conversation was compacted%s: about %d tokens became %d", triggerReason(trigger), c.Before, c.Tokens,
	)
	return c, nil
}

func triggerReason(t event.Trigger) string {
	switch t {
	case event.TriggerRequest:
		return " on request"
	case event.TriggerOverflow:
		return ", since the provider refused the request as too long"
	}
	return ", since the model's window was nearly full"
}

// digest returns the facts that the compaction keeps. It checks files, so it works on a
// snapshot without holding the log, and stops waiting when ctx ends.
func (t *turn) digest(ctx context.Context, p history.Plan) (string, error) {
	l := history.Read(t.snapshot(), history.Scope{From: p.From, Omit: p.Omit, First: p.First})
	done := make(chan history.Digest, 1)
	// Ends with ctx or its last file. A file system that hangs keeps it, and nothing waits for
	// it.
	go scope.Shield(func(err error) { t.panicked("checking files panicked")(err); done <- l }, func() {
		l := l
		l.Files = slices.Clone(l.Files)
		l.Check(ctx, t.Dir)
		done <- l
	})()
	select {
	case l = <-done:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	return strings.TrimSpace(l.Text(p.Digest * 3)), nil
}

// snapshot returns the current state. Between steps, only the parts that it copies change.
func (t *turn) snapshot() (state event.State) {
	t.Log.View(func(s event.State) {
		state = s
		state.Waiting = slices.Clone(s.Waiting)
		state.Jobs = nil
		for _, j := range s.Jobs {
			job := *j
			state.Jobs = append(state.Jobs, &job)
		}
		state.Children = nil
		for _, c := range s.Children {
			child := *c
			state.Children = append(state.Children, &child)
		}
	})
	return state
}

// windowFull returns the limit as an error that lists the contents of the window.
func (t *turn) windowFull(why string) error {
	p := t.plan(false)
	rest := max(p.Kept-p.Fixed-p.Inputs, 0)
	return event.AbortLimit(event.LimitContext, fmt.Sprintf(
		"the model's window of %d tokens is full, and %s. By settle's count, the instructions and the tools take "+
			"%d tokens, the messages of this turn %d, "+
			"recent answers and outputs %d, and the older history %d. Nothing is lost: a new message continues "+
			"the session; "+
			"a model with a larger window, fewer tools or shorter outputs make room",
		p.Window, why, p.Fixed, p.Inputs, rest, p.Removed))
}

// errNoSummary means that the model returned no usable summary.
var errNoSummary = errors.New("the model gave no summary")
