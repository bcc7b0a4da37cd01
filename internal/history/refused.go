package history

import (
	"net/http"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

// attachments are the parts of which a request may have too many bytes.
const attachments = images | documents

// refusedPart returns the part that the failure concerns. If a request is too large in bytes,
// its images and documents are the cause. Some servers name an image where they mean a document,
// and the reverse: which of the two is left out is decided by refuseAttached.
func refusedPart(kind model.ErrorKind, status int) Parts {
	switch {
	case kind == model.ErrReasoning:
		return signatures
	case kind == model.ErrImage, kind == model.ErrDocument, kind == model.ErrTooLarge,
		status == http.StatusRequestEntityTooLarge:
		return attachments
	case kind == model.ErrPolicy:
		return userTexts
	}
	return 0
}

// unexplained reports whether a refusal can concern any part of the request. For refusals of the
// key, the account or the address, no other history helps.
func unexplained(kind model.ErrorKind, status int) bool {
	switch kind {
	case model.ErrInvalid, model.ErrReasoning, model.ErrImage, model.ErrDocument, model.ErrToolSearch:
		return status == 0 || status >= 400 && status < 500 && status != http.StatusMethodNotAllowed
	}
	return false
}

// refusals are the parts of the conversation that the target has refused, and would refuse in every
// later request (C6). They are derived from the ends of attempts and the recorded changes of the
// history.
type refusals struct {
	target        Target
	omitReasoning map[string]bool // attempts without reasoning and ids
	omitImages    map[string]bool // inputs without images
	omitDocuments map[string]bool // inputs with the text of their documents
	omitTexts     map[string]bool // inputs without text
	omitOutputs   map[string]bool // attempts without the outputs of their calls
	omitArguments map[string]bool // attempts without the arguments of their calls
	omitAnswers   map[string]bool // attempts without texts
	omitResponses map[string]bool // attempts without any item
	firstTurn     int             // the first turn that is sent

	// marks counts the elements of the sets above.
	marks int

	// The position: the turn, and the numbers of its attempts and changes that were read.
	turn, ended, changes int
	turnEntered          bool

	turns            map[string]int // the turn of each input
	attempts         []string       // ids
	exchanges        []exchange     // without the refused ones
	nextExchange     exchange       // since the last complete response
	userTextsRefused bool           // texts were refused, without a complete response since

	unexplained int      // refusals with an unknown reason since the last complete response
	suspects    []string // inputs of these refusals
	trial       *trial   // parts that are left out until a response shows that it helps
}

// exchange is the part of the conversation between two complete responses.
type exchange struct {
	inputs    []string
	pictures  []string // the inputs with images
	documents []string // the inputs with documents
	calls     []string // the attempts with calls
	answer    string   // the attempt with the response
}

// refusalsOf reads a whole log; follow reads on when the log grows.
func refusalsOf(target Target, log Log) *refusals {
	r := &refusals{
		target:        target,
		turns:         map[string]int{},
		omitReasoning: map[string]bool{},
		omitImages:    map[string]bool{},
		omitDocuments: map[string]bool{},
		omitTexts:     map[string]bool{},
		omitOutputs:   map[string]bool{},
		omitArguments: map[string]bool{},
		omitAnswers:   map[string]bool{},
		omitResponses: map[string]bool{},
	}
	r.follow(log)
	if r.trial != nil {
		r.omit(*r.trial)
	}
	return r
}

// follow reads to the end of the log.
func (r *refusals) follow(log Log) {
	for len(log.turns) > 0 {
		t := log.turn(r.turn)
		if !r.turnEntered {
			r.turnEntered, r.trial = true, nil // a trial is valid for the requests of one turn
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
		if len(in.Documents) > 0 {
			r.nextExchange.documents = append(r.nextExchange.documents, in.ID)
		}
	}
}

// end takes an attempt and the refused part of its request.
func (r *refusals) end(a *event.Attempt, refused Parts) {
	if a.Start.Purpose != "" { // a refused request for a summary only shows which parts the provider cannot read
		switch refused {
		case signatures:
			r.mark(r.omitReasoning, r.attempts)
		case attachments:
			r.refuseAttached(a)
		}
		return
	}
	completed := a.End != nil && a.End.Outcome == event.Completed
	switch refused {
	case signatures: // all of them: a signature does not tell whose it is
		r.mark(r.omitReasoning, r.attempts)
	case attachments:
		r.refuseAttached(a)
	case userTexts:
		r.refuseWords()
		if completed {
			r.mark(r.omitAnswers, []string{a.ID})
		}
	}
	r.attempts = append(r.attempts, a.ID)
	switch own := r.target.made(a); {
	case own && completed:
		r.settleTrial()
	case own && a.End != nil && a.End.Failure != nil && unexplained(model.ErrorKind(a.End.Failure.Kind), a.End.Failure.Status):
		r.unexplained++
		r.suspects = slices.Clone(r.nextExchange.inputs)
	}
	if completed && refused == 0 {
		r.nextExchange.answer = a.ID
		r.exchanges = append(r.exchanges, r.nextExchange)
		r.nextExchange, r.userTextsRefused, r.suspects = exchange{}, false, nil
	}
	r.nextExchange.calls = append(r.nextExchange.calls, a.ID)
}

// refuseAttached leaves out the attachments that the failure names, or the others if the request
// has none of these; the new ones of both kinds if the request was too large. If a failure names an
// image and only documents are new, these are left out first: earlier images were answered.
func (r *refusals) refuseAttached(a *event.Attempt) {
	f, newImages, newDocuments := a.End.Failure, len(r.nextExchange.pictures) > 0, len(r.nextExchange.documents) > 0
	switch {
	case f.Kind == string(model.ErrImage) && (newImages || !newDocuments):
		_ = r.refuseImages() || r.refuseDocuments()
	case f.Kind == string(model.ErrDocument), !newImages:
		_ = r.refuseDocuments() || r.refuseImages()
	case !newDocuments:
		r.refuseImages()
	default:
		r.refuseImages()
		r.refuseDocuments()
	}
}

// refuseImages leaves out the images without a response, or all images if there are none. It
// reports whether there were any.
func (r *refusals) refuseImages() bool {
	return r.refuseFiles(r.omitImages, func(e *exchange) *[]string { return &e.pictures })
}

// refuseDocuments does the same with documents.
func (r *refusals) refuseDocuments() bool {
	return r.refuseFiles(r.omitDocuments, func(e *exchange) *[]string { return &e.documents })
}

// refuseFiles adds to set the files that the function of returns for an exchange; set has the files
// that are left out.
func (r *refusals) refuseFiles(set map[string]bool, of func(*exchange) *[]string) bool {
	before, next := r.marks, of(&r.nextExchange)
	if len(*next) == 0 {
		for n := range r.exchanges {
			r.mark(set, *of(&r.exchanges[n]))
		}
	}
	r.mark(set, *next)
	*next = nil
	return r.marks > before
}

// refuseWords leaves out the texts without a response. After another refusal, it also leaves out
// the previous exchange.
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

// made reports whether the attempt was the target's.
func (target Target) made(a *event.Attempt) bool {
	return a.Start.Provider == target.Provider && a.Start.Model == target.Model
}

// refused returns the part of the attempt's request that the target refused.
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
