package history

import (
	"fmt"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

// shorten shortens the conversation in stages until the request has about so many tokens: first
// old outputs, last the texts of users, and never the inputs of the turn.
func (w *walk) shorten(to int) {
	for range maxRounds {
		before := w.total
		w.shortenOnce(to)
		if w.tokens() <= max(to, w.enough()) || w.total >= before {
			return
		}
	}
}

// maxRounds bounds the rounds of shortening for one request: the notes about omissions take room
// as well.
const maxRounds = 4

func (w *walk) shortenOnce(to int) {
	s := shortening{walk: w, to: max(to, w.enough()), total: w.tokens()}
	for _, stage := range []func(){
		func() { s.earlierInputs(s.foldHuge) },
		func() { s.oldResponses(trimOutputs) },
		func() { s.oldResponses(foldArguments) },
		func() { s.oldResponses(trimAnswers) },
		func() { s.earlierInputs(leaveOutImages) },
		func() { s.earlierInputs(foldInput) },
		s.divideFresh,
		func() { s.lastResponse(trimOutputs) },
		func() { s.lastResponse(foldArguments) },
		func() { s.lastResponse(trimAnswers) },
		func() { s.oldResponses(dropAll) },
		func() { s.earlierInputs(dropAll) },
		func() { s.lastResponse(dropAll) },
	} {
		if s.total > s.to {
			stage()
		}
	}
	w.closeGaps()
}

// shortening is the state of one round.
type shortening struct {
	*walk
	to, total int
}

// earlierInputs applies do to the entries between the responses of earlier turns, one after the
// other, until the request is short enough.
func (s *shortening) earlierInputs(do func([]entry)) {
	for n, e := range s.entries {
		if e.response == 0 && e.turn < s.at && s.total > s.to {
			s.count(s.entries[n:n+1], do)
		}
	}
}

// oldResponses applies do to all responses except the last.
func (s *shortening) oldResponses(do func([]entry)) { s.each(1, s.responses-1, do) }

func (s *shortening) lastResponse(do func([]entry)) { s.each(s.responses, s.responses, do) }

func (s *shortening) each(first, last int, do func([]entry)) {
	for from := 0; from < len(s.entries) && s.total > s.to; {
		response, to := s.entries[from].response, from+1
		for to < len(s.entries) && s.entries[to].response == response {
			to++
		}
		if 0 < response && first <= response && response <= last {
			s.count(s.entries[from:to], do)
		}
		from = to
	}
}

// count applies do and records the freed tokens.
func (s *shortening) count(list []entry, do func([]entry)) {
	before := sum(list)
	do(list)
	if after := sum(list); after < before {
		s.total -= before - after
		s.trimmed++
	}
}

func sum(list []entry) (n int) {
	for k := range list {
		n += list[k].tokens()
	}
	return n
}

// foldHuge shortens an input that exceeds the window, before other entries are shortened.
func (s *shortening) foldHuge(list []entry) {
	if e := &list[0]; sum(list) > s.to/2 {
		foldText(e)
		if e.foldDocuments(); sum(list) > s.to/2 {
			foldText(e)
		}
	}
}

// foldInput shortens inputs, except the text of a compaction.
func foldInput(list []entry) {
	if list[0].kind != compacted {
		foldText(&list[0])
	}
}

func foldText(e *entry) {
	if len(e.Text) > 3*trimmedInput {
		e.Text = ends(e.Text, trimmedInput, trimmedInput, "message")
	}
}

func leaveOutImages(list []entry) {
	e := &list[0]
	if e.foldDocuments(); len(e.Images) > 0 {
		e.Text, e.Images = appendLine(e.Text, noImages(e.Images, "there was no room for it")), nil
	}
}

// foldDocuments replaces the entry's documents by their texts, if these are shorter.
func (e *entry) foldDocuments() {
	const why = "there was no room for it"
	for n, d := range e.Documents {
		text := documentText(e.documents[n], why)
		if len(text)/bytesPerToken > e.pageTokens*max(d.Pages, 1) {
			text = fmt.Sprintf("[%s: omitted because %s]", documentName(d), why)
		}
		e.Text = appendLine(e.Text, text)
	}
	e.Documents, e.documents = nil, nil
}

func trimOutputs(list []entry) {
	for n := range list {
		if e := &list[n]; e.Role == model.Output && len(e.Text) > 2*trimmedHead {
			e.Text = trim(e.Text, "output", "; make the call again if you need them")
		}
	}
}

// foldArguments replaces long arguments by a JSON object with their start.
func foldArguments(list []entry) {
	for n := range list {
		if e := &list[n]; e.Role == model.Call && len(e.Arguments) > 2*trimmedHead {
			e.Arguments = string(
				append(event.AppendString([]byte(`{"shortened_arguments":`), cut(e.Arguments, trimmedHead)), '}'),
			)
			removeSignatures(list)
		}
	}
}

// trimAnswers drops reasoning and the rest of long texts.
func trimAnswers(list []entry) {
	for n := range list {
		switch e := &list[n]; {
		case e.Role == model.Assistant && len(e.Text) > 2*trimmedHead:
			e.Text = trim(e.Text, "message", "")
			removeSignatures(list)
		case e.Role == model.Reasoning:
			removeSignatures(list)
		}
	}
}

// removeSignatures removes the parts that are valid only for the unchanged response: reasoning, its
// signatures, and the provider's ids.
func removeSignatures(list []entry) {
	for n := range list {
		list[n].ID = ""
		if list[n].Signature.Binds() {
			list[n].Signature = nil
		}
		if list[n].Role == model.Reasoning {
			list[n].kind = lost
		}
	}
}

// dropAll drops a whole response, a call with its output, or an input.
func dropAll(list []entry) {
	for n := range list {
		if list[n].kind == plain {
			list[n].kind = dropped
		}
	}
}

// divideFresh divides the remaining room among the outputs of the last response.
func (s *shortening) divideFresh() {
	s.lastResponse(func(list []entry) {
		var places []int
		var outputs []model.Item
		room := s.to - s.total
		for n, e := range list {
			if e.Role == model.Output {
				places, outputs = append(places, n), append(outputs, e.Item)
				room += e.tokens() - tokensPerItem - tokensPerNote
			}
		}
		s.divide(outputs, max(room, 0)*bytesPerToken)
		for n, place := range places {
			list[place].Item = outputs[n]
		}
	})
}

// closeGaps adds one note for each run of dropped entries.
func (w *walk) closeGaps() {
	var out []entry
	for _, e := range w.entries {
		switch {
		case e.kind == lost, e.kind == prompt && len(out) > 0 && out[len(out)-1].kind == gap:
			continue
		case e.kind != dropped && e.kind != gap:
		case len(out) > 0 && out[len(out)-1].kind == gap:
			out[len(out)-1].turn, out[len(out)-1].attempts = e.turn, e.attempts
			continue
		default:
			e = entry{Item: model.Item{Role: model.User, Text: textGap}, turn: e.turn, attempts: e.attempts, kind: gap}
		}
		out = append(out, e)
	}
	w.entries = out
	w.recount()
}
