package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

// Target is what history must know of the model that the request is for.
type Target struct {
	// Provider and Model name it; reasoning of any other is left out.
	Provider, Model string
	model.Traits
	// Effort and CacheKey go into the request as they are.
	Effort, CacheKey string
}

// Built is a request and what it took to fit it.
type Built struct {
	model.Request
	Sent
	// Trimmed is how much of the conversation was shortened.
	Trimmed int
	// Change, if set, is to be recorded before the request: the conversation had
	// to be shortened once more, and stays so.
	Change *event.HistoryChanged
}

// Request builds the request that continues the conversation in s, with the
// inputs that join it now.
func Request(s event.State, target Target, system string, specs []model.ToolSpec, joining ...event.Input) Built {
	request := model.Request{
		Model: target.Model, System: system, Tools: specs, Schema: schema(s, joining), Effort: target.Effort, CacheKey: target.CacheKey,
	}
	w := walk{
		target: target, refused: refusedBy(target, s), ids: map[string]bool{}, attempts: map[string]*event.Attempt{}, window: target.Window, fixed: estimate(request),
	}
	for n, t := range s.Turns {
		w.at = n
		if n < w.refused.from {
			w.epochs(t, len(t.Attempts))
			continue
		}
		if n > 0 && n == w.refused.from {
			w.user(textEarlier)
		}
		w.turn(s, t)
		w.turnEnd(t, jobsAfter(s, n))
	}
	w.inputs(joining)
	change := w.fit()
	w.endWithUser()
	for _, e := range w.entries {
		request.Input = append(request.Input, e.Item)
	}
	b := Built{Request: request, Sent: w.sent(), Trimmed: w.trimmed, Change: change}
	b.Answer = answer(w.window, w.most(), b.Tokens)
	b.MaxTokens = b.Answer
	return b
}

// schema returns the schema that the answer of the last turn is to follow: that
// of the input that the turn is for, unless one that joined it has its own.
func schema(s event.State, joining []event.Input) json.RawMessage {
	if len(s.Turns) == 0 {
		return nil
	}
	t := s.Turns[len(s.Turns)-1]
	var out json.RawMessage
	if n := len(t.Inputs); n > 0 {
		out = t.Inputs[n-1].Schema
	}
	var joined []event.Input
	for _, a := range t.Attempts {
		joined = append(joined, a.Inputs...)
	}
	for _, in := range append(joined, joining...) {
		if len(in.Schema) > 0 {
			out = in.Schema
		}
	}
	return out
}

// walk collects the conversation.
type walk struct {
	target   Target
	refused  *refusals
	entries  []entry
	ids      map[string]bool           // call ids in use
	attempts map[string]*event.Attempt // so far
	window   int                       // of the target, as far as was known then
	learned  bool                      // from a refusal
	fixed    int                       // tokens of what is no conversation

	at        int // the turn
	told      int // of its changes
	responses int // so far
	trimmed   int // entries that were shortened
}

// entry is an item, and what is known of it beside.
type entry struct {
	model.Item
	turn     int
	response int    // which of the model's responses it belongs to, from 1; 0 for none
	input    string // id of the input that it is, "" for none
	kind     entryKind
}

type entryKind uint8

const (
	plain   entryKind = iota
	gap               // it stands for what was left out
	dropped           // to make room, and a gap is to say so
	lost              // without a word
)

func (w *walk) add(i model.Item, input string) {
	w.entries = append(w.entries, entry{Item: i, turn: w.at, input: input})
}

// respond adds the items of a response.
func (w *walk) respond(items []model.Item) {
	w.responses++
	for _, i := range items {
		w.entries = append(w.entries, entry{Item: i, turn: w.at, response: w.responses})
	}
}

func (w *walk) turn(s event.State, t *event.Turn) {
	w.told = 0
	w.inputs(t.Inputs)
	for _, a := range t.Attempts {
		w.attempts[a.ID] = a
	}
	at := 0 // attempts whose inputs were told
	for n := 0; n < len(t.Items); {
		i := t.Items[n]
		if i.Attempt == "" {
			w.user(i.Content().Text)
			n++
			continue
		}
		response := t.Items[n:responseEnd(t, n)]
		at = w.joined(t, at, i.Attempt)
		if w.refused.hidden[i.Attempt] {
			w.hide()
		} else {
			w.response(s, response)
		}
		n += len(response)
	}
	w.joined(t, at, "")
	if n := len(t.Attempts); n > 0 {
		w.slip(t.Attempts[n-1])
	}
	w.epochs(t, len(t.Attempts))
}

// hide says once that the model's responses are left out.
func (w *walk) hide() {
	if n := len(w.entries); n == 0 || w.entries[n-1].Text != textHidden {
		w.user(textHidden)
	}
}

// epochs applies the turn's changes from before its k-th attempt.
func (w *walk) epochs(t *event.Turn, k int) {
	for ; w.told < len(t.Changes) && t.Changes[w.told].Attempts <= k; w.told++ {
		c := t.Changes[w.told]
		if !w.target.concerns(c) {
			continue
		}
		switch c.Change {
		case event.ChangeWindow:
			w.learn(c.Tokens)
		case event.ChangeShortened:
			w.shorten(c.Tokens)
		}
	}
}

// responseEnd returns the place behind the attempt's last item: the items of
// one response are never parted by a note.
func responseEnd(t *event.Turn, n int) int {
	attempt := t.Items[n].Attempt
	for n < len(t.Items) && t.Items[n].Attempt == attempt {
		n++
	}
	return n
}

// joined tells the inputs of the attempts from the at-th up to the named one,
// or of all that are left, and returns how many attempts that makes.
func (w *walk) joined(t *event.Turn, at int, upTo string) int {
	for ; at < len(t.Attempts); at++ {
		if at > 0 {
			w.slip(t.Attempts[at-1])
		}
		w.inputs(t.Attempts[at].Inputs)
		w.epochs(t, at)
		if t.Attempts[at].ID == upTo {
			return at + 1
		}
	}
	return at
}

// slip tells the model of a call that its provider did not pass on.
func (w *walk) slip(a *event.Attempt) {
	if a.End != nil && a.End.Failure != nil && a.End.Failure.Kind == string(model.ErrToolUse) {
		w.user(fmt.Sprintf("[Your last answer was not passed on: %s. Call one of the tools, with arguments that its schema allows.]", cut(a.End.Failure.Message, 500)))
	}
}

func (w *walk) inputs(inputs []event.Input) {
	for _, in := range inputs {
		if w.refused.unsaid[in.ID] {
			w.add(model.Item{Role: model.User, Text: textUnsaid}, in.ID)
			continue
		}
		item := model.Item{Role: model.User, Text: in.Text, Images: in.Images}
		if why := w.blind(in); why != "" {
			item.Images = nil
			item.Text = appendLine(item.Text, noImages(in.Images, why))
		}
		if !blank(item.Text) || len(item.Images) > 0 {
			w.add(item, in.ID)
		}
	}
}

// blind returns why the model is not shown the input's images, "" if it is or
// there are none.
func (w *walk) blind(in event.Input) string {
	switch {
	case len(in.Images) == 0:
	case w.target.NoImages:
		return "the model cannot see images"
	case w.refused.unseen[in.ID]:
		return "the provider refused it"
	}
	return ""
}

func (w *walk) user(text string) {
	if !blank(text) {
		w.add(model.Item{Role: model.User, Text: text}, "")
	}
}

// endWithUser: no provider that refuses to be prefilled takes a conversation
// that ends with the model's own words.
func (w *walk) endWithUser() {
	n := len(w.entries)
	if n == 0 || w.entries[n-1].Role == model.User || w.entries[n-1].Role == model.Output {
		return
	}
	w.user(textContinue)
}

// sent is what is kept of the request.
func (w *walk) sent() Sent {
	sent := Sent{Tokens: w.tokens(), Least: w.least(), Fixed: w.fixed, Window: w.window}
	suspects := w.refused.refusedInputs()
	for _, e := range w.entries {
		switch {
		case e.Seal != nil, e.Role == model.Reasoning, e.ID != "":
			sent.Parts |= seals
		case e.Role == model.User && len(e.Images) > 0:
			sent.Parts |= images
		}
		if e.response > 0 {
			sent.Parts |= answers
			if e.Role == model.Call && e.Arguments != foldedArguments || e.Role == model.Output && !strings.HasPrefix(e.Text, textNoOutput) {
				sent.Parts |= tools
			}
		}
		if e.turn < w.at && e.Text != textEarlier {
			sent.Parts |= earlier
			if e.Text != textUnsaid && slices.Contains(suspects, e.input) {
				sent.Parts |= refusedEarlier
			}
		}
	}
	return sent
}
