package history

import (
	"encoding/json"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

// Target is what history must know of the model that the request is for.
type Target struct {
	// Provider and Model name it; reasoning of any other is left out.
	Provider, Model string
	// Window is how many tokens the model can hold, output included; 0 if
	// unknown: nothing is clamped or trimmed then.
	Window int
	// MaxOutput is the most tokens that the model can put out; 0 if unknown.
	MaxOutput int
	// NoImages says that the model cannot see: images become a line of text.
	NoImages bool
	// TextAfterCalls says that the wire format lets text follow a call within
	// one response.
	TextAfterCalls bool
	// ReasoningField says that reasoning is a field of the whole response: it
	// goes back wherever it stood, sealed or not, with what else goes back.
	ReasoningField bool
	// RefusalSticks says that a response that was cut by a refusal is refused
	// again for as long as what it was about is in the conversation.
	RefusalSticks bool
	// Effort and CacheKey go into the request as they are.
	Effort, CacheKey string
}

// Built is a request and what it took to fit it.
type Built struct {
	model.Request
	// Trimmed is how many outputs of old calls were shortened.
	Trimmed int
	// Tokens is an estimate of the request's length.
	Tokens int
}

// Request builds the request that continues the conversation in s, with the
// inputs that join it now.
func Request(s event.State, target Target, system string, tools []model.ToolSpec, joining ...event.Input) Built {
	w := walk{target: target, refused: refusedBy(target, s), ids: map[string]bool{}, attempts: map[string]*event.Attempt{}}
	for n, t := range s.Turns {
		w.turn(s, t)
		w.turnEnd(t, jobsAfter(s, n))
	}
	w.inputs(joining)
	w.endWithUser()
	b := Built{Request: model.Request{
		Model: target.Model, System: system, Tools: tools, Input: w.items,
		Effort: target.Effort, CacheKey: target.CacheKey, Schema: schema(s, joining),
	}}
	b.fit(target)
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
	items    []model.Item
	ids      map[string]bool           // call ids in use
	attempts map[string]*event.Attempt // so far
}

func (w *walk) turn(s event.State, t *event.Turn) {
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
		w.response(s, response)
		n += len(response)
	}
	w.joined(t, at, "")
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
		w.inputs(t.Attempts[at].Inputs)
		if t.Attempts[at].ID == upTo {
			return at + 1
		}
	}
	return at
}

func (w *walk) inputs(inputs []event.Input) {
	for _, in := range inputs {
		if w.refused.unsaid[in.ID] {
			w.user(textUnsaid)
			continue
		}
		item := model.Item{Role: model.User, Text: in.Text, Images: in.Images}
		if why := w.blind(in); why != "" {
			item.Images = nil
			item.Text = appendLine(item.Text, noImages(in.Images, why))
		}
		if !blank(item.Text) || len(item.Images) > 0 {
			w.items = append(w.items, item)
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
		w.items = append(w.items, model.Item{Role: model.User, Text: text})
	}
}

// endWithUser: no provider that refuses to be prefilled takes a conversation
// that ends with the model's own words.
func (w *walk) endWithUser() {
	n := len(w.items)
	if n == 0 || w.items[n-1].Role == model.User || w.items[n-1].Role == model.Output {
		return
	}
	w.user(textContinue)
}
