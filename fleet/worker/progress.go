package worker

import (
	"fmt"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/internal/redact"
)

// progress is the state of a task's input in the log.
type progress struct {
	// isAccepted says that the log has the input.
	isAccepted bool
	// turn is the id of the last turn that worked on it, "" for none; cause is the cause of that turn's end, nil
	// if it has not ended, and answer its answer.
	turn, answer string
	cause        *event.Cause
	// prompt is the beginning of the input, as the log has it.
	prompt string
	// turns is the number of its turns, and usage their usage.
	turns int
	usage event.Summary
	// result is the task's result; nil if it has not ended.
	result *fleet.Result
}

// progress returns the state of the task's input.
func (r *run) progress(s *settle.Session) (p progress) {
	s.View(func(state event.State) { p = read(state, r.attempt.Task.Input, r.attempt.Verdicts) })
	return p
}

// isInputOf reports whether an id is that of a task's input, of an input that continues the task, or of a verdict. The
// latter have the input's id with a tilde and the epoch of their attempt.
func isInputOf(input, id string) bool { return id == input || strings.HasPrefix(id, input+"~") }

// read returns the state of an input.
func read(state event.State, input string, verdicts []fleet.Verdict) progress {
	p := progress{isAccepted: state.Accepted(input)}
	hasTaskInput := func(inputs []event.Input) bool {
		for _, i := range inputs {
			if isInputOf(input, i.ID) {
				return true
			}
		}
		return false
	}
	var turns []*event.Turn
	for _, t := range state.Turns {
		isTaskTurn := hasTaskInput(t.Inputs)
		for _, a := range t.Attempts {
			isTaskTurn = isTaskTurn || hasTaskInput(a.Inputs)
		}
		if isTaskTurn {
			turns = append(turns, t)
			p.usage.Join(t.Summary)
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
	if endsTask(p.cause) {
		p.result = p.resultOf(p.cause)
	} else if held := heldCalls(state, turns, verdicts); len(held) > 0 {
		p.result = p.heldResult(held)
	}
	if p.result != nil {
		p.result.Seq = state.Seq
	}
	return p
}

// endsTask reports whether a turn's end is also the task's end, and not only the end of its
// worker.
func endsTask(c *event.Cause) bool {
	return c.Outcome != event.Aborted || c.Reason != event.Crashed && c.Reason != event.Shutdown
}

// resultOf returns the result of a task whose last turn ended with the cause.
func (p progress) resultOf(c *event.Cause) *fleet.Result {
	r := &fleet.Result{
		Outcome: c.Outcome, Reason: c.Reason, Turns: p.turns, Summary: p.usage, Turn: p.turn, Answer: p.answer,
	}
	if c.Outcome != event.Completed {
		r.Message = c.Error()
	}
	return r
}

// maxPrompt is the approximate number of bytes of a prompt that the model receives again.
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

// resumption returns the text for the model when another worker continues, or after people have decided
// about calls.
func resumption(p progress, hasVerdicts bool) string {
	switch {
	case hasVerdicts:
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

// failure returns the result of a task that fails outside of its turns, whose log would mask
// the message (C15).
func (p progress) failure(message string) *fleet.Result {
	return p.resultOf(event.Fail(&event.Failure{Name: event.NameInternal, Message: redact.Diagnostic(message)}))
}

// cancelledResult returns the result of a task that was cancelled while no worker ran it.
func (p progress) cancelledResult(by string) *fleet.Result {
	c := event.Abort(event.Interrupted, by)
	c.Message = fmt.Sprintf("cancelled by %s; its worker had ended", by)
	return p.resultOf(c)
}
