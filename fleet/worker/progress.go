package worker

import (
	"fmt"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/internal/redact"
)

// progress is what a log says of a task's input.
type progress struct {
	// began says that the input was accepted.
	began bool
	// turn is the id of the last turn that worked on it, "" for none; cause is how that turn ended, nil
	// if it has not, and answer its answer.
	turn, answer string
	cause        *event.Cause
	// prompt is the beginning of the input, as the log has it.
	prompt string
	// turns is how many turns there were, and spent what they took.
	turns int
	spent event.Summary
	// result is how the task has ended; nil if it has not.
	result *fleet.Result
}

// progress returns the state of the task's input.
func (r *run) progress(s *settle.Session) (p progress) {
	s.View(func(state event.State) { p = read(state, r.attempt.Task.Input, r.attempt.Verdicts) })
	return p
}

// isOf reports whether an input is the task's. The inputs that continue a task, and its verdicts, have its
// input's id with a tilde and the epoch of their attempt.
func isOf(input, id string) bool { return id == input || strings.HasPrefix(id, input+"~") }

// read returns the state of an input.
func read(state event.State, input string, verdicts []fleet.Verdict) progress {
	p := progress{began: state.Accepted(input)}
	ours := func(inputs []event.Input) bool {
		for _, i := range inputs {
			if isOf(input, i.ID) {
				return true
			}
		}
		return false
	}
	var turns []*event.Turn
	for _, t := range state.Turns {
		works := ours(t.Inputs)
		for _, a := range t.Attempts {
			works = works || ours(a.Inputs)
		}
		if works {
			turns = append(turns, t)
			p.spent.Join(t.Summary)
		}
		for _, i := range t.Inputs {
			if i.ID == input {
				p.prompt = beginning(i.Text)
			}
		}
	}
	if p.turns = len(turns); p.turns > 0 {
		last := turns[p.turns-1]
		p.turn, p.cause, p.answer = last.ID, last.Cause, last.Answer()
	}
	if p.cause == nil {
		return p
	}
	if counts(p.cause) {
		p.result = p.ended(p.cause)
	} else if held := heldCalls(state, turns, verdicts); len(held) > 0 {
		p.result = p.hold(held)
	}
	if p.result != nil {
		p.result.Seq = state.Seq
	}
	return p
}

// counts reports whether a turn's end is also the task's end, and not only the end of its
// worker.
func counts(c *event.Cause) bool {
	return c.Outcome != event.Aborted || c.Reason != event.Crashed && c.Reason != event.Shutdown
}

// ended returns the result of a task that ends so.
func (p progress) ended(c *event.Cause) *fleet.Result {
	r := &fleet.Result{
		Outcome: c.Outcome, Reason: c.Reason, Turns: p.turns, Summary: p.spent, Turn: p.turn, Answer: p.answer,
	}
	if c.Outcome != event.Completed {
		r.Message = c.Error()
	}
	return r
}

// maxPrompt is how many bytes, about, of a prompt the model receives again.
const maxPrompt = 500

// beginning returns the beginning of a prompt: other tasks of the session may have run since.
func beginning(prompt string) string {
	for n := range prompt {
		if n >= maxPrompt {
			return prompt[:n] + "…"
		}
	}
	return prompt
}

// resumption is the text for the model when another worker continues, or after people have decided
// about calls.
func resumption(p progress, decided bool) string {
	switch {
	case decided:
		return "Your turn had ended while calls waited for a person. The decisions are above, and calls that were " +
			"approved have run by now. Continue the task that began with: " + p.prompt
	case p.turn == "":
		return "The worker that had accepted the message above ended before it began. Begin with it now."
	case p.cause != nil && p.cause.Reason == event.Shutdown:
		return "The worker was shut down before you had finished. Continue the task from where you were interrupted."
	}
	return "The worker died before you had finished, and another worker took over. Continue the task from where it stopped. " +
		"If the effects of a call are unknown and nothing above reports them, check how far the call got before you repeat it."
}

// failure is the result of a task that fails outside of its turns, whose log would mask
// the message (C15).
func (p progress) failure(message string) *fleet.Result {
	return p.ended(event.Fail(&event.Failure{Name: event.NameInternal, Message: redact.Diagnostic(message)}))
}

// cancelled is the result of a task whose end was asked for while no worker ran it.
func (p progress) cancelled(by string) *fleet.Result {
	c := event.Abort(event.Interrupted, by)
	c.Message = fmt.Sprintf("cancelled by %s; its worker had ended", by)
	return p.ended(c)
}
