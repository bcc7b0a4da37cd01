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

// Compaction says how room is made when the model's window is full.
type Compaction string

// The ways.
const (
	CompactionOff        Compaction = "off"        // old outputs are shortened instead
	CompactionMechanical Compaction = "mechanical" // a ledger from the log and the recent history
	CompactionAuto       Compaction = "auto"       // with a summary by the model beside it
)

const (
	// leastSteps is how many steps lie between two compactions of a turn at the
	// least: closer together, they do not help.
	minCompactionSteps = 5
	// mostPieces is how many pieces a history is summarised in at most.
	maxPieces = 64
)

// room is what a turn knows of its model's window.
type windowState struct {
	// compacted are the steps before which the history was compacted last, by what
	// it was for.
	compactedAt      map[event.Trigger]int
	instructionBytes int  // bytes of instructions that were given
	skip             bool // the next request is sent as it is: compacting does not help
}

// fullError says that the history is to be compacted before the next request.
type fullError struct{ trigger event.Trigger }

func (e *fullError) Error() string { return "the model's window is full" }

// full returns a [fullError] if the history is to be compacted before the request
// is sent, and the limit if that does not help any more.
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

// trigger says why the window counts as full.
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

// compact makes the history shorter, before the step's next request. Where it would
// gain too little it does nothing, and the next request is sent as it is.
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

// compactOnce compacts what a summary can be made of at once, and reports whether
// there is more.
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
			whole, err := t.change(ctx, of, trigger, digest)
			if err != nil {
				return false, err
			}
			if freesEnough(of, whole, trigger) {
				plan, change = of, whole
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

// worth reports whether the change makes enough room: a quarter of the window, or
// any where somebody asked for it.
func freesEnough(p history.Plan, c event.HistoryChanged, trigger event.Trigger) bool {
	tokens := history.Tokens(c.Summary + c.Ledger)
	freed := p.Freed(tokens)
	switch {
	case p.Piece: // so that there are not too many
		return p.Removed-tokens > p.Window/8
	case trigger == event.TriggerRequest:
		return freed > 0
	}
	return freed >= p.Window/4
}

func (t *turn) plan(summary bool) (p history.Plan) {
	var log history.Log
	t.Log.View(func(s event.State) { log = history.LogOf(s) })
	return history.PlanCompaction(log, t.target, t.System, t.specs(), summary)
}

// change is the event of a compaction.
func (t *turn) change(ctx context.Context, p history.Plan, trigger event.Trigger, digest string) (event.HistoryChanged, error) {
	text, err := t.digest(ctx, p)
	if err != nil {
		return event.HistoryChanged{}, err
	}
	c := event.HistoryChanged{
		Change: event.ChangeCompacted, Provider: t.target.Provider, Model: t.target.Model, Trigger: trigger,
		From: p.From, Summary: digest, Ledger: text, Before: p.Before,
	}
	c.Tokens = max(p.Before-p.Freed(history.Tokens(digest+text)), 0)
	c.Why = fmt.Sprintf("the conversation was compacted, since %s: about %d tokens became %d", triggerReason(trigger), c.Before, c.Tokens)
	return c, nil
}

func triggerReason(t event.Trigger) string {
	switch t {
	case event.TriggerRequest:
		return "somebody asked for it"
	case event.TriggerOverflow:
		return "the provider refused the request as too long"
	}
	return "the model's window was nearly full"
}

// ledger says what the session has come to. It reads files, so that it looks at
// the state beside the log, and leaves off when ctx ends.
func (t *turn) digest(ctx context.Context, p history.Plan) (string, error) {
	l := history.Read(t.snapshot(), history.Scope{From: p.From, Omit: p.Omit, First: p.First})
	done := make(chan history.Digest, 1)
	// Ends with ctx or its last file; a file system that hangs keeps it, and
	// nothing waits for it.
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

// snapshot is the state as it is now: between steps, only what is copied changes.
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

// windowFull is the limit, with what fills the window.
func (t *turn) windowFull(why string) error {
	p := t.plan(false)
	rest := max(p.Kept-p.Fixed-p.Inputs, 0)
	return event.AbortLimit(event.LimitContext, fmt.Sprintf(
		"the model's window of %d tokens is full, and %s. By settle's count, the instructions and the tools take %d tokens, the messages of this turn %d, "+
			"recent answers and outputs %d, and what came before %d. Nothing is lost: a new message continues the session; "+
			"a model with a larger window, fewer tools or shorter outputs make room",
		p.Window, why, p.Fixed, p.Inputs, rest, p.Removed))
}

// errNoSummary: the model gave none that can be used.
var errNoSummary = errors.New("the model gave no summary")
