package turn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/model"
)

// droppedWords explains that later requests leave out a text that a provider refuses (C6).
const droppedWords = "later requests leave out the refused text, so that the session can continue"

// maxBody bounds the part of a provider's response that a failure keeps, in characters.
const maxBody = 500

// failureOfAttempt returns a failed attempt as the log keeps it, redacted (C15). If the fault
// could be retried but is not, the retry budget is exhausted.
func (t *turn) failureOfAttempt(e *model.Error, d decision) *event.Failure {
	f := &event.Failure{
		Name: event.NameProvider, Kind: string(e.Kind), Status: e.Status,
		URL: t.Redact.Diagnostic(e.URL), Body: clip(t.Redact.Diagnostic(e.Body), maxBody),
		Message: clip(t.Redact.Diagnostic(e.Error()), 2*maxBody), Attempt: d.attempt, RetryLimit: d.limit,
	}
	switch {
	case d.note != "" && d.exhausted == "":
		f.Message += "; " + d.note
	case e.Kind == model.ErrPolicy:
		f.Message += "; " + droppedWords
	case d.exhausted != "":
		f.Name = event.NameRetryExhausted
		f.Message += "; " + d.exhausted
	}
	return f
}

// MaskProcesses masks secrets in the command lines of processes.
func MaskProcesses(r *redact.Redactor, list []event.Process) []event.Process {
	list = slices.Clone(list)
	for n := range list {
		list[n].Command, list[n].Why = r.String(list[n].Command), r.String(list[n].Why)
	}
	return list
}

// failure returns an error that does not come from a provider as the log keeps it, redacted.
func (t *turn) failure(err error) *event.Failure {
	f := failureOf(err)
	f.Message, f.Stack = t.Redact.Diagnostic(f.Message), t.Redact.Diagnostic(f.Stack)
	return f
}

func failureOf(err error) *event.Failure {
	var panicked *scope.PanicError
	var failed *journal.FailedError
	switch {
	case errors.As(err, &panicked):
		return &event.Failure{Name: event.NamePanic, Message: panicked.Error(), Stack: string(panicked.Stack)}
	case errors.As(err, &failed):
		return journalFailure(failed)
	}
	return &event.Failure{Name: event.NameInternal, Message: err.Error()}
}

func journalFailure(err error) *event.Failure {
	return &event.Failure{
		Name:    event.NameJournal,
		Message: fmt.Sprintf("the session's log cannot be written, so that nothing more can be started: %v", err),
	}
}

// clip returns at most n characters of s.
func clip(s string, n int) string {
	for at := range s {
		if n == 0 {
			return s[:at] + "…"
		}
		n--
	}
	return s
}

// MaskPlaces masks secrets in paths.
func MaskPlaces(r *redact.Redactor, list []event.ResolvedPath) []event.ResolvedPath {
	list = slices.Clone(list)
	for n := range list {
		list[n].Path, list[n].Real = r.String(list[n].Path), r.String(list[n].Real)
	}
	return list
}

// panicked returns a function that logs a panic of code that the turn calls.
func (t *turn) panicked(what string) func(error) {
	return scope.Log(t.Logger, t.Redact.Diagnostic, what, "turn", t.id)
}
