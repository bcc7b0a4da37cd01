package history

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

const (
	// bytesPerToken is a low estimate for code.
	bytesPerToken = 3
	// tokensPerItem and tokensPerImage are the tokens of an entry beside its text.
	tokensPerItem, tokensPerImage = 8, 1600
	// tokensPerPage are the tokens of a document's page, as text and as an image, if the model's
	// are unknown.
	tokensPerPage = 2500
	// tokensPerNote are the tokens of a note about an omission.
	tokensPerNote = 40
	// trimmedHead is the length of a trimmed text in bytes, and trimmedInput of each end of an
	// input.
	trimmedHead, trimmedInput = 400, 4 << 10
	// minOutput is the smallest useful room for an answer, in tokens.
	minOutput = 1024
	// minAnswer is the smallest bound that servers accept.
	minAnswer = 16
	// defaultWindow is the assumed window for the outputs of one response if the window is
	// unknown.
	defaultWindow = 128_000
	// defaultOutput is the assumed largest output of a model, or default of a wire format, if it
	// is unknown.
	defaultOutput = 32_000
)

// room is the largest length of the request in tokens, 0 for no bound.
func (w *walk) room() int {
	if w.window == 0 {
		return 0
	}
	free := w.window / 4 // for the answer
	if w.target.MaxOutput > 0 {
		free = min(free, w.target.MaxOutput)
	}
	return w.window - free
}

// lowerWindow records a smaller window of the model.
func (w *walk) lowerWindow(tokens int) {
	w.windowRefused = true
	if w.window == 0 || tokens < w.window {
		w.window = max(tokens, 1)
	}
}

// fit shortens the conversation if the request leaves no room for an answer, and returns the
// change. It shortens by more than necessary, because each change costs the prompt cache (C21).
func (w *walk) fit() *event.HistoryChanged {
	room, tokens := w.room(), w.tokens()
	if room == 0 || tokens <= max(room, w.enough()) || w.counted() <= room || cannotFit(w.minimum(), w.window) {
		return nil
	}
	to := room - room/4
	before, entries := *w, slices.Clone(w.entries)
	if w.shorten(to); w.total >= before.total { // nothing to leave out: a note would take as much room
		*w = before
		w.entries = entries
		return nil
	}
	return &event.HistoryChanged{
		Change: event.ChangeShortened, Provider: w.target.Provider, Model: w.target.Model, Tokens: to,
		Why: fmt.Sprintf("about %d tokens left no room for an answer; the log has all of it", tokens),
	}
}

// maxOutput is the largest output of the model, 0 if unknown. After a refusal for length, it is
// bounded by the room.
func (w *walk) maxOutput() int {
	if w.target.MaxOutput == 0 && w.windowRefused {
		return defaultOutput
	}
	return w.target.MaxOutput
}

// answer returns the largest answer to a request of so many tokens; limit is the model's largest
// output. 0 means unknown.
func answer(window, limit, tokens int) int {
	if window == 0 || limit == 0 {
		return limit
	}
	return min(limit, max(window-tokens, min(minOutput, window/4), minAnswer))
}

// fitOutputs shortens the longest outputs of one response if together they take more than a
// third of the window. They stay shortened.
func (w *walk) fitOutputs(outputs []model.Item) {
	window := w.window
	if window == 0 {
		window = defaultWindow
	}
	w.divide(outputs, window/3*bytesPerToken)
}

// divide divides so many bytes among the outputs; short outputs leave their rest to the others.
func (w *walk) divide(outputs []model.Item, bytes int) {
	var sizes []int
	for _, o := range outputs {
		sizes = append(sizes, len(o.Text))
	}
	slices.Sort(sizes)
	each, left := 0, bytes
	for n, size := range sizes {
		each = left / (len(sizes) - n)
		if size > each {
			break
		}
		left -= size
		if n == len(sizes)-1 {
			return // they fit
		}
	}
	each = max(each, trimmedHead)
	for n := range outputs {
		if len(outputs[n].Text) > each+tokensPerNote*bytesPerToken {
			outputs[n].Text = ends(outputs[n].Text, each-each/4, each/4, "output")
			w.trimmed++
		}
	}
}

// tokens estimates the request's length.
func (w *walk) tokens() int { return w.fixed() + w.total }

// tokens estimates the entry's length.
func (e *entry) tokens() int {
	if e.kind == dropped || e.kind == lost {
		return 0
	}
	return tokens(e.Item, e.pageTokens)
}

// pageTokens are the tokens of a document's page for the target.
func (target Target) pageTokens() int { return cmp.Or(target.PageTokens, tokensPerPage) }

// minimum is the length of the request with the inputs of the turn only.
func (w *walk) minimum() int { return w.fixed() + w.inputTokens }

// isProtected reports whether the entry is never left out.
func (w *walk) isProtected(e entry) bool { return e.input != "" && e.turn == w.at }

// enough is the length at which shortening stops. It exceeds the minimum, so that an instruction
// that nearly fills the window leaves some room.
func (w *walk) enough() int { return w.minimum() + w.window/16 }

func pagesTokens(documents []event.Document, pageTokens int) (n int) {
	for _, d := range documents {
		n += pageTokens * max(d.Pages, 1)
	}
	return n
}

// estimate returns the tokens of a request whose documents have so many tokens a page.
func estimate(r model.Request, pageTokens int) int {
	n := (len(r.System) + len(r.Schema)) / bytesPerToken
	for _, t := range r.Tools {
		if t.Deferred != "" {
			continue // found tools are in the provider's count
		}
		n += tokensPerItem + (len(t.Name)+len(t.Description)+len(t.Schema)+len(t.Grammar))/bytesPerToken
	}
	for _, i := range r.Input {
		n += tokens(i, pageTokens)
	}
	return n
}

func tokens(i model.Item, pageTokens int) int {
	n := tokensPerItem + tokensPerImage*len(i.Images)
	n += pagesTokens(i.Documents, pageTokens)
	n += (len(i.Text) + len(i.Name) + len(i.Arguments)) / bytesPerToken
	if i.Signature != nil {
		n += len(i.Signature.Data) / bytesPerToken
	}
	return n
}
