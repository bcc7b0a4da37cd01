package history

import (
	"fmt"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

const (
	// bytesPerToken is on the low side of what tokenisers give for code.
	bytesPerToken = 3
	// tokensPerItem and tokensPerImage are what an entry costs beside its text.
	tokensPerItem, tokensPerImage = 8, 1600
	// tokensPerNote is what a note takes that something was left out.
	tokensPerNote = 40
	// trimmedHead is how many bytes of a trimmed text stay, and trimmedInput of
	// each end of an input.
	trimmedHead, trimmedInput = 400, 4 << 10
	// leastOutput is the least room for an answer that is worth asking for.
	minOutput = 1024
	// leastAnswer is what servers take for a bound at the least.
	minAnswer = 16
	// usualWindow is what the outputs of one response are measured by where the
	// window is not known.
	defaultWindow = 128_000
	// usualOutput is what a model is taken to put out at most, or a wire format to
	// ask for, where it is not known.
	defaultOutput = 32_000
)

// room is how many tokens the request may have, 0 for any number.
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

// learn notes what the model was found to hold.
func (w *walk) lowerWindow(tokens int) {
	w.windowRefused = true
	if w.window == 0 || tokens < w.window {
		w.window = max(tokens, 1)
	}
}

// fit shortens the conversation if the request leaves no room for an answer, and
// returns the change. It is shortened by more than it would take: each change
// costs the prompt cache (C21).
func (w *walk) fit() *event.HistoryChanged {
	room, tokens := w.room(), w.tokens()
	if room == 0 || tokens <= max(room, w.enough()) || w.counted() <= room || cannotFit(w.minimum(), w.window) {
		return nil
	}
	to := room - room/4
	before, entries := *w, slices.Clone(w.entries)
	if w.shorten(to); w.total >= before.total { // there is nothing to leave out: to say so takes as much room
		*w = before
		w.entries = entries
		return nil
	}
	return &event.HistoryChanged{
		Change: event.ChangeShortened, Provider: w.target.Provider, Model: w.target.Model, Tokens: to,
		Why: fmt.Sprintf("about %d tokens left no room for an answer; the log has all of it", tokens),
	}
}

// most is how much output the model can be asked for, 0 if unknown. Once it has
// refused a request for its length, it is asked for no more than there is room for.
func (w *walk) maxOutput() int {
	if w.target.MaxOutput == 0 && w.windowRefused {
		return defaultOutput
	}
	return w.target.MaxOutput
}

// answer is how many tokens the answer to a request of so many may have, where
// the model has a window and a largest output; 0 means that it is not known.
func answer(window, most, tokens int) int {
	if window == 0 || most == 0 {
		return most
	}
	return min(most, max(window-tokens, min(minOutput, window/4), minAnswer))
}

// share shortens the outputs of one response, the longest ones, if together they
// take more than a third of the window. They stay so.
func (w *walk) fitOutputs(outputs []model.Item) {
	window := w.window
	if window == 0 {
		window = defaultWindow
	}
	w.divide(outputs, window/3*bytesPerToken)
}

// divide has the outputs share so many bytes; what one does not need goes to the
// others.
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

// tokens is an estimate of the request's length.
func (w *walk) tokens() int { return w.fixed() + w.total }

// tokens is what the entry takes of the request.
func (e *entry) tokens() int {
	if e.kind == dropped || e.kind == lost {
		return 0
	}
	return tokens(e.Item)
}

// minimum is what would be left of the request if all were left out but the
// inputs of the turn.
func (w *walk) minimum() int { return w.fixed() + w.inputTokens }

// kept reports whether the entry stays as it is whatever happens.
func (w *walk) isProtected(e entry) bool { return e.input != "" && e.turn == w.at }

// enough is what shortening is content with: an instruction that nearly fills
// the window leaves some room for what comes of it all the same.
func (w *walk) enough() int { return w.minimum() + w.window/16 }

func estimate(r model.Request) int {
	n := (len(r.System) + len(r.Schema)) / bytesPerToken
	for _, t := range r.Tools {
		if t.Deferred != "" {
			continue // what was found is in what the provider counts
		}
		n += tokensPerItem + (len(t.Name)+len(t.Description)+len(t.Schema)+len(t.Grammar))/bytesPerToken
	}
	for _, i := range r.Input {
		n += tokens(i)
	}
	return n
}

func tokens(i model.Item) int {
	n := tokensPerItem + tokensPerImage*len(i.Images)
	n += (len(i.Text) + len(i.Name) + len(i.Arguments)) / bytesPerToken
	if i.Seal != nil {
		n += len(i.Seal.Data) / bytesPerToken
	}
	return n
}
