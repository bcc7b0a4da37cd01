package history

import (
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

// Parts is a set of the parts that a provider can refuse in an otherwise valid conversation.
type Parts uint

const (
	signatures     Parts = 1 << iota // reasoning with the signature of another account or server
	images                           // images that the model cannot read
	documents                        // PDFs that the model cannot read
	userTexts                        // texts of users, and outputs of calls, that violate a policy
	tools                            // arguments and outputs of calls
	answers                          // all texts and calls of the model
	earlierTurns                     // earlier turns
	refusedEarlier                   // refused inputs of earlier turns without an answer
)

// RequestStats are the figures of a request that are kept until its answer.
type RequestStats struct {
	// Tokens estimates the request's length, and Minimum its length with the turn's own inputs
	// only.
	Tokens, Minimum int
	// Fixed are the tokens of the instructions and the tools.
	Fixed int
	// Documents are the tokens of the documents that are sent as such, by their pages.
	Documents int
	// Attached reports that PDFs were attached to the turn's own inputs, however they are sent.
	Attached bool
	// Window is the assumed window of the model, 0 if unknown.
	Window int
	// Answer bounds the requested output in tokens, 0 for no bound.
	Answer int
	// Parts are the parts that can be left out.
	Parts Parts
	// Counted is the length by the provider's last count and an estimate of the new part.
	Counted int
	// NearlyFull reports that the history should be compacted first: it nearly filled the window
	// before it was shortened.
	NearlyFull bool
	// Summary reports that the request asks for a summary.
	Summary bool
}

// Tight reports whether no room is left for an answer.
func (stats RequestStats) Tight() bool {
	return stats.Window > 0 && stats.Counted > stats.Window-min(minOutput, stats.Window/16)
}

// Remedy is the reaction to a refused request.
type Remedy struct {
	// Change, if set, must be recorded before the attempt's end.
	Change *event.HistoryChanged
	// Retry reports that the turn can repeat the request: with the change, or without the
	// refused part (ADR 7).
	Retry bool
	// FirstTime reports the first refusal with an unknown reason: the same request can succeed.
	FirstTime bool
	// Note describes the change for a person, or has advice.
	Note string
}

// degradeSteps are the parts that are left out, one after the other, of a history that is
// refused for an unknown reason: first parts that only the provider can read, last the texts of
// users. The first step stands alone: inputs that were refused in every form are likely to be
// refused again.
func degradeSteps() []degradeStep {
	return []degradeStep{
		{event.PartRefusedInputs, refusedEarlier, "the messages that it refused before"},
		{event.PartReasoning, signatures, "the model's reasoning"},
		{event.PartImages, images, "images"},
		{event.PartDocuments, documents, textOfDocuments},
		{event.PartTools, tools, "the arguments and results of tool calls"},
		{event.PartAnswers, answers, "everything the model said and did"},
		{event.PartInputs, earlierTurns, "everything said before this turn"},
	}
}

// textOfDocuments names the omitted documents and their replacement.
const textOfDocuments = "PDFs, of which it receives the text"

type degradeStep struct {
	part event.Part
	of   Parts
	name string
}

// Yield reports whether later requests leave out the parts that the provider refused with such a
// failure (ADR 7). A person must rephrase refused texts instead.
func (p Parts) Yield(kind model.ErrorKind, status int) bool {
	return p&refusedPart(kind, status)&(signatures|attachments) != 0
}

// Remedy returns the reaction to the refusal of the request (C6). Call it before the attempt's
// end is logged.
func (stats RequestStats) Remedy(s event.State, target Target, fault *model.Error) Remedy {
	switch {
	case stats.Parts.Yield(fault.Kind, fault.Status):
		return Remedy{Retry: true, Note: "asking again without what was refused"}
	case fault.Kind == model.ErrContext, fault.Kind == model.ErrTooLarge:
		return stats.overflow(s, target, fault)
	case stats.Summary: // the request for a summary can be the reason; compaction works without
		return Remedy{}
	case unexplained(fault.Kind, fault.Status):
		return stats.step(refusalsOf(target, LogOf(s)), target)
	}
	return Remedy{}
}

// leftOut returns the parts that the trial leaves out; nil without one.
func (r *refusals) leftOut() []event.Part {
	if r.trial == nil {
		return nil
	}
	return r.trial.parts
}

// step takes the next degrade step.
func (stats RequestStats) step(r *refusals, target Target) Remedy {
	change := &event.HistoryChanged{Provider: target.Provider, Model: target.Model}
	all, left := degradeSteps(), r.leftOut()
	at := 0
	if n := len(left); n > 0 {
		at = 1 + slices.IndexFunc(all, func(x degradeStep) bool { return x.part == left[n-1] })
	}
	for ; at < len(all); at++ {
		if stats.Parts&all[at].of != 0 {
			change.Change, change.LeftOut = event.ChangeLeftOut, leaveOut(left, all[at].part)
			change.Why = "the provider refused a request and did not say why; left out of the history: " +
				namesOf(change.LeftOut)
			note := "asking again without " + all[at].name
			if len(change.LeftOut) > 1 {
				note = "asking again, also without " + all[at].name
			}
			return Remedy{Change: change, Retry: true, FirstTime: r.unexplained == 0, Note: note}
		}
	}
	if len(left) == 0 {
		return Remedy{}
	}
	change.Change = event.ChangeRestored
	change.Why = "it did not help to leave out " + namesOf(left)
	return Remedy{Change: change, Note: change.Why + ". The conversation is kept as it was. " +
		"Rephrase it, or check the model's settings; you can continue the session"}
}

// leaveOut adds a part to the omitted ones.
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
