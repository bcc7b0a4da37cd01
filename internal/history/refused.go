package history

import (
	"net/http"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

// Parts is what a provider can refuse of a conversation that is otherwise fine:
// a set.
type Parts uint

const (
	seals  Parts = 1 << iota // reasoning, which another account or server sealed
	images                   // that it cannot read
	words                    // of the user, or in what calls gave: against its policy
)

// refusedPart returns what the failure is about. Where a request is too large
// in bytes, it is the images that make it so.
func refusedPart(kind model.ErrorKind, status int) Parts {
	switch {
	case kind == model.ErrReasoning:
		return seals
	case kind == model.ErrImage, status == http.StatusRequestEntityTooLarge:
		return images
	case kind == model.ErrPolicy:
		return words
	}
	return 0
}

// PartsOf returns what could be refused of r and asked without at once. Words
// are for the user to choose anew.
func PartsOf(r model.Request) (p Parts) {
	for _, i := range r.Input {
		if i.Seal != nil {
			p |= seals
		}
		if len(i.Images) > 0 {
			p |= images
		}
	}
	return p
}

// Yield reports whether a request with these parts holds what the provider
// refused with such a failure: later requests leave that out.
func (p Parts) Yield(kind model.ErrorKind, status int) bool {
	return p&refusedPart(kind, status) != 0
}

// refusals is what the target has refused of the conversation so far, and would
// refuse in every later request too (C6). It is read off how attempts ended.
type refusals struct {
	sealed  map[string]bool // attempts whose reasoning and ids do not go back
	unseen  map[string]bool // inputs whose images do not
	unsaid  map[string]bool // inputs whose words do not
	outputs map[string]bool // attempts whose calls' outputs do not
	answers map[string]bool // attempts whose text does not

	attempts  []string   // so far
	exchanges []exchange // so far, but for those that were refused
	fresh     exchange   // what the next whole response is the first for
	again     bool       // words were refused, and no whole response came since
}

// exchange is what came to the conversation between two whole responses.
type exchange struct {
	inputs, pictures []string // the inputs, and those that have images
	calls            []string // the attempts whose calls gave something
	answer           string   // the attempt that brought the response
}

func refusedBy(target Target, s event.State) *refusals {
	r := &refusals{
		sealed: map[string]bool{}, unseen: map[string]bool{}, unsaid: map[string]bool{},
		outputs: map[string]bool{}, answers: map[string]bool{},
	}
	for _, t := range s.Turns {
		r.come(t.Inputs)
		for _, a := range t.Attempts {
			r.come(a.Inputs)
			r.end(a, target.refused(a))
		}
	}
	return r
}

func (r *refusals) come(list []event.Input) {
	for _, in := range list {
		r.fresh.inputs = append(r.fresh.inputs, in.ID)
		if len(in.Images) > 0 {
			r.fresh.pictures = append(r.fresh.pictures, in.ID)
		}
	}
}

// end takes in an attempt and what was refused of its request.
func (r *refusals) end(a *event.Attempt, refused Parts) {
	whole := a.End != nil && a.End.Outcome == event.Completed
	switch refused {
	case seals: // as a whole: a seal says nothing of itself
		mark(r.sealed, r.attempts)
	case images:
		r.refuseImages()
	case words:
		r.refuseWords()
		r.answers[a.ID] = whole
	}
	r.attempts = append(r.attempts, a.ID)
	if whole && refused == 0 {
		r.fresh.answer = a.ID
		r.exchanges = append(r.exchanges, r.fresh)
		r.fresh, r.again = exchange{}, false
	}
	r.fresh.calls = append(r.fresh.calls, a.ID)
}

// refuseImages leaves out the images that no response has come for yet, or all
// of them if there are none.
func (r *refusals) refuseImages() {
	if len(r.fresh.pictures) == 0 {
		for _, e := range r.exchanges {
			mark(r.unseen, e.pictures)
		}
	}
	mark(r.unseen, r.fresh.pictures)
	r.fresh.pictures = nil
}

// refuseWords leaves out what no response has come for yet. Refused again, it
// was not that alone, and the exchange before goes as well.
func (r *refusals) refuseWords() {
	r.refuse(r.fresh)
	if n := len(r.exchanges); r.again && n > 0 {
		r.refuse(r.exchanges[n-1])
		r.answers[r.exchanges[n-1].answer] = true
		r.exchanges = r.exchanges[:n-1]
	}
	r.fresh, r.again = exchange{}, true
}

func (r *refusals) refuse(e exchange) {
	mark(r.unsaid, e.inputs)
	mark(r.outputs, e.calls)
}

// refused returns what the target refused of the attempt's request.
func (target Target) refused(a *event.Attempt) Parts {
	switch {
	case a.End == nil, a.Start.Provider != target.Provider, a.Start.Model != target.Model:
		return 0
	case a.End.Failure != nil:
		return refusedPart(model.ErrorKind(a.End.Failure.Kind), a.End.Failure.Status)
	case target.RefusalSticks && (a.End.StopReason == string(model.StopRefusal) || a.End.StopReason == string(model.StopFilter)):
		return words
	}
	return 0
}

func mark(set map[string]bool, ids []string) {
	for _, id := range ids {
		set[id] = true
	}
}
