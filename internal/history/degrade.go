package history

import (
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

// Parts is what a provider can refuse of a conversation that is otherwise fine:
// a set.
type Parts uint

const (
	signatures     Parts = 1 << iota // reasoning, which another account or server sealed
	images                           // that it cannot read
	userTexts                        // of the user, or in what calls gave: against its policy
	tools                            // arguments and outputs of calls
	answers                          // everything the model said and did
	earlierTurns                     // turns
	refusedEarlier                   // inputs of earlier turns that were refused, and never answered
)

// Sent is what is kept of a request until it is answered.
type RequestStats struct {
	// Tokens is an estimate of the request's length, and Minimum of how long it
	// would be with nothing in it but the turn's own inputs.
	Tokens, Minimum int
	// Fixed is what the instructions and the tools take of that.
	Fixed int
	// Window is what the model was taken to hold, 0 if unknown.
	Window int
	// Answer is how many tokens of output were asked for at most, 0 for no bound.
	Answer int
	// Parts is what could be left out of it.
	Parts Parts
	// Counted is its length by what the provider counted last and an estimate of
	// what is new.
	Counted int
	// NearlyFull says that the history should be compacted first: before it was
	// shortened, it nearly filled the window.
	NearlyFull bool
	// Summary says that it asks for a summary.
	Summary bool
}

// Tight reports whether there is no room for an answer any more.
func (stats RequestStats) Tight() bool {
	return stats.Window > 0 && stats.Counted > stats.Window-min(minOutput, stats.Window/16)
}

// Remedy is what can be done about a request that was refused.
type Remedy struct {
	// Change, if set, is to be recorded before the attempt's end.
	Change *event.HistoryChanged
	// Retry says that the turn may ask again: with that change, or without what
	// was refused (ADR 7).
	Retry bool
	// FirstTime says that nobody knows why it was refused, and that it was not
	// refused so before: it may be worth asking with the same request.
	FirstTime bool
	// Note tells a person what was done, or what to do.
	Note string
}

// rungs are what is left out, one after the other, of a history that is refused
// for a reason that nobody knows: first what only its provider can read, last
// what users said. The first rung is by itself: what was refused in every form
// and never answered is likely to be refused still.
func degradeSteps() []degradeStep {
	return []degradeStep{
		{event.PartRefusedInputs, refusedEarlier, "the messages that it refused before"},
		{event.PartReasoning, signatures, "the model's reasoning"},
		{event.PartImages, images, "images"},
		{event.PartTools, tools, "the arguments and results of tool calls"},
		{event.PartAnswers, answers, "everything the model said and did"},
		{event.PartInputs, earlierTurns, "everything said before this turn"},
	}
}

type degradeStep struct {
	part event.Part
	of   Parts
	name string
}

// Yield reports whether a request with these parts holds what the provider
// refused with such a failure: later requests leave that out (ADR 7). Words are
// for the user to choose anew.
func (p Parts) Yield(kind model.ErrorKind, status int) bool {
	return p&refusedPart(kind, status)&(signatures|images) != 0
}

// Remedy says what can be done about the refusal of the request (C6). It is
// requestedOutput before the attempt's end is in the log.
func (stats RequestStats) Remedy(s event.State, target Target, fault *model.Error) Remedy {
	switch {
	case stats.Parts.Yield(fault.Kind, fault.Status):
		return Remedy{Retry: true, Note: "asking again without what was refused"}
	case fault.Kind == model.ErrContext:
		return stats.overflow(target, fault)
	case stats.Summary: // it may be refused for what it asks: there is another way
		return Remedy{}
	case unexplained(fault.Kind, fault.Status):
		return stats.step(refusalsOf(target, LogOf(s)), target)
	}
	return Remedy{}
}

// step goes one rung on.
func (stats RequestStats) step(r *refusals, target Target) Remedy {
	change := &event.HistoryChanged{Provider: target.Provider, Model: target.Model}
	all, left := degradeSteps(), []event.Part(nil)
	if r.trial != nil {
		left = r.trial.parts
	}
	at := 0
	if n := len(left); n > 0 {
		at = 1 + slices.IndexFunc(all, func(x degradeStep) bool { return x.part == left[n-1] })
	}
	for ; at < len(all); at++ {
		if stats.Parts&all[at].of != 0 {
			change.Change, change.LeftOut = event.ChangeLeftOut, leaveOut(left, all[at].part)
			names := namesOf(change.LeftOut)
			change.Why = "the provider refused a request and did not say why; left out of the history: " + names
			return Remedy{Change: change, Retry: true, FirstTime: r.unexplained == 0, Note: "asking again without " + names}
		}
	}
	if len(left) == 0 {
		return Remedy{}
	}
	change.Change = event.ChangeRestored
	change.Why = "the request was refused without " + namesOf(left) + " as well"
	return Remedy{Change: change, Note: change.Why + ". The conversation is kept as it was. " +
		"Rephrase it, or check the model's settings; you can continue the session"}
}

// leaveOut adds the part to those that are left out.
func leaveOut(left []event.Part, part event.Part) []event.Part {
	left = slices.DeleteFunc(slices.Clone(left), func(p event.Part) bool { return p == event.PartRefusedInputs })
	return append(left, part)
}

func namesOf(parts []event.Part) string {
	var names []string
	for _, x := range degradeSteps() {
		if slices.Contains(parts, x.part) {
			names = append(names, x.name)
		}
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}
