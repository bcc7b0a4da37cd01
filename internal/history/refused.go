package history

import (
	"net/http"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

// refusedPart returns what the failure is about. Where a request is too large
// in bytes, it is the images that make it so.
func refusedPart(kind model.ErrorKind, status int) Parts {
	switch {
	case kind == model.ErrReasoning:
		return signatures
	case kind == model.ErrImage, status == http.StatusRequestEntityTooLarge:
		return images
	case kind == model.ErrPolicy:
		return userTexts
	}
	return 0
}

// unexplained reports whether a refusal can be about anything that was sent.
// Where it is about the key, the account or the address, no other history helps.
func unexplained(kind model.ErrorKind, status int) bool {
	switch kind {
	case model.ErrInvalid, model.ErrReasoning, model.ErrImage, model.ErrToolSearch:
		return status == 0 || status >= 400 && status < 500 && status != http.StatusMethodNotAllowed
	}
	return false
}

// refusals is what the target has refused of the conversation so far, and would
// refuse in every later request too (C6). It is read off how attempts ended, and
// off the changes that the log has of the history.
type refusals struct {
	target        Target
	omitReasoning map[string]bool // attempts whose reasoning and ids do not go back
	omitImages    map[string]bool // inputs whose images do not
	omitTexts     map[string]bool // inputs whose words do not
	omitOutputs   map[string]bool // attempts whose calls' outputs do not
	omitArguments map[string]bool // attempts whose calls' arguments do not
	omitAnswers   map[string]bool // attempts whose text does not
	omitResponses map[string]bool // attempts of which nothing does
	firstTurn     int             // the first turn that does

	// marks counts what was added to the sets above.
	marks int

	// Where it is: the turn, and how many of its attempts and changes are behind it.
	turn, ended, changes int
	turnEntered          bool

	turns            map[string]int // of inputs so far
	attempts         []string       // so far
	exchanges        []exchange     // so far, but for those that were refused
	nextExchange     exchange       // what the next whole response is the first for
	userTextsRefused bool           // words were refused, and no whole response came since

	unexplained int      // refusals without a known reason since the last whole response
	suspects    []string // inputs that were in them, and that no response has come for
	trial       *trial   // what is left out until a response shows that it helps
}

// exchange is what came to the conversation between two whole responses.
type exchange struct {
	inputs, pictures []string // the inputs, and those that have images
	calls            []string // the attempts whose calls gave something
	answer           string   // the attempt that brought the response
}

// refusedBy reads all of a log; it may be a log that goes on, see follow.
func refusalsOf(target Target, log Log) *refusals {
	r := &refusals{
		target: target, turns: map[string]int{},
		omitReasoning: map[string]bool{}, omitImages: map[string]bool{}, omitTexts: map[string]bool{},
		omitOutputs: map[string]bool{}, omitArguments: map[string]bool{}, omitAnswers: map[string]bool{}, omitResponses: map[string]bool{},
	}
	r.follow(log)
	if r.trial != nil {
		r.omit(*r.trial)
	}
	return r
}

// follow goes on to the end of the log.
func (r *refusals) follow(log Log) {
	for len(log.turns) > 0 {
		t := log.turn(r.turn)
		if !r.turnEntered {
			r.turnEntered, r.trial = true, nil // what was tried in a turn says nothing of the next one's request
			r.addInputs(t.Inputs)
		}
		for ; r.ended < len(t.Attempts); r.ended++ {
			a := t.Attempts[r.ended]
			r.change(t)
			r.addInputs(a.Inputs)
			r.end(a, r.target.refused(a))
		}
		r.change(t)
		if r.turn == len(log.turns)-1 {
			return
		}
		r.turn++
		r.turnEntered, r.ended, r.changes = false, 0, 0
	}
}

func (r *refusals) addInputs(list []event.Input) {
	for _, in := range list {
		r.turns[in.ID] = r.turn
		r.nextExchange.inputs = append(r.nextExchange.inputs, in.ID)
		if len(in.Images) > 0 {
			r.nextExchange.pictures = append(r.nextExchange.pictures, in.ID)
		}
	}
}

// end takes in an attempt and what was refused of its request.
func (r *refusals) end(a *event.Attempt, refused Parts) {
	if a.Start.Purpose != "" { // it says nothing of the next request but what cannot be read
		switch refused {
		case signatures:
			r.mark(r.omitReasoning, r.attempts)
		case images:
			r.refuseImages()
		}
		return
	}
	whole := a.End != nil && a.End.Outcome == event.Completed
	switch refused {
	case signatures: // as a whole: a seal says nothing of itself
		r.mark(r.omitReasoning, r.attempts)
	case images:
		r.refuseImages()
	case userTexts:
		r.refuseWords()
		if whole {
			r.mark(r.omitAnswers, []string{a.ID})
		}
	}
	r.attempts = append(r.attempts, a.ID)
	switch own := r.target.made(a); {
	case own && whole:
		r.settleTrial()
	case own && a.End != nil && a.End.Failure != nil && unexplained(model.ErrorKind(a.End.Failure.Kind), a.End.Failure.Status):
		r.unexplained++
		r.suspects = slices.Clone(r.nextExchange.inputs)
	}
	if whole && refused == 0 {
		r.nextExchange.answer = a.ID
		r.exchanges = append(r.exchanges, r.nextExchange)
		r.nextExchange, r.userTextsRefused, r.suspects = exchange{}, false, nil
	}
	r.nextExchange.calls = append(r.nextExchange.calls, a.ID)
}

// refuseImages leaves out the images that no response has come for yet, or all
// of them if there are none.
func (r *refusals) refuseImages() {
	if len(r.nextExchange.pictures) == 0 {
		for _, e := range r.exchanges {
			r.mark(r.omitImages, e.pictures)
		}
	}
	r.mark(r.omitImages, r.nextExchange.pictures)
	r.nextExchange.pictures = nil
}

// refuseWords leaves out what no response has come for yet. Refused again, it
// was not that alone, and the exchange before goes as well.
func (r *refusals) refuseWords() {
	r.refuse(r.nextExchange)
	if n := len(r.exchanges); r.userTextsRefused && n > 0 {
		r.refuse(r.exchanges[n-1])
		r.mark(r.omitAnswers, []string{r.exchanges[n-1].answer})
		r.exchanges = r.exchanges[:n-1]
	}
	r.nextExchange, r.userTextsRefused = exchange{}, true
}

func (r *refusals) refuse(e exchange) {
	r.mark(r.omitTexts, e.inputs)
	r.mark(r.omitOutputs, e.calls)
}

// requestedOutput reports whether the attempt was the target's.
func (target Target) made(a *event.Attempt) bool {
	return a.Start.Provider == target.Provider && a.Start.Model == target.Model
}

// refused returns what the target refused of the attempt's request.
func (target Target) refused(a *event.Attempt) Parts {
	switch {
	case a.End == nil, !target.made(a):
		return 0
	case a.End.Failure != nil:
		return refusedPart(model.ErrorKind(a.End.Failure.Kind), a.End.Failure.Status)
	case target.RefusalSticks && (a.End.StopReason == string(model.StopRefusal) || a.End.StopReason == string(model.StopFilter)):
		return userTexts
	}
	return 0
}

func (r *refusals) mark(set map[string]bool, ids []string) {
	for _, id := range ids {
		if !set[id] {
			set[id] = true
			r.marks++
		}
	}
}
