package openai

import (
	"encoding/json"
	"strings"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/transport"
)

// decoder reads the events of one response.
type decoder struct {
	search  bool              // the request is a search
	custom  map[string]string // property that a custom tool's text becomes, by tool
	started bool
	outputs []output // outputs that have begun, in order
	items   int      // number of begun items
	calls   int
	refused bool
}

// output is an output item. Items of unknown types have no role, and are
// skipped: nothing of them but their type is read.
type output struct {
	index    int // the API's
	item     int // ours
	kind     string
	role     model.Role
	id       string
	callID   string
	name     string
	property string // of a custom tool call
	deltas   bool
	part     int // of a summary or content, by the last delta
	ended    bool
}

// wireItem has the fields of all output items that we know. Raw is the item as
// it came.
type wireItem struct {
	raw              []byte
	own              bool       // the API made it by itself: see opaque
	Type             string     `json:"type"`
	ID               string     `json:"id"`
	CallID           string     `json:"call_id"`
	Name             string     `json:"name"`
	Arguments        string     `json:"arguments"`
	Input            string     `json:"input"`
	EncryptedContent string     `json:"encrypted_content"`
	Phase            string     `json:"phase"`
	Content          []wirePart `json:"content"`
	Summary          []wirePart `json:"summary"`
}

// UnmarshalJSON reads the type of an item that we do not know, and no more:
// its fields may have the names of ours and be of other types.
func (w *wireItem) UnmarshalJSON(data []byte) error {
	var kind struct {
		Type      string          `json:"type"`
		Execution json.RawMessage `json:"execution"`
	}
	if err := json.Unmarshal(data, &kind); err != nil {
		return err
	}
	type plain wireItem
	switch kind.Type {
	case "message", "reasoning", "function_call", "custom_tool_call":
		if err := json.Unmarshal(data, (*plain)(w)); err != nil {
			return err
		}
	}
	w.own = opaque(kind.Type) && string(kind.Execution) != `"client"` // which waits for one
	w.Type, w.raw = kind.Type, data                                   // which stays as it is while the event is read
	return nil
}

type wirePart struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

type wireResponse struct {
	ID                string          `json:"id"`
	Error             json.RawMessage `json:"error"`
	IncompleteDetails *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Output []wireItem `json:"output"`
	Usage  *wireUsage `json:"usage"`
}

type wireUsage struct {
	InputTokens        transport.Count `json:"input_tokens"`
	InputTokensDetails struct {
		CachedTokens     transport.Count `json:"cached_tokens"`
		CacheWriteTokens transport.Count `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputTokens        transport.Count `json:"output_tokens"`
	OutputTokensDetails struct {
		ReasoningTokens transport.Count `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// UnmarshalJSON implements json.Unmarshaler. A usage that cannot be read does not cost
// the answer that it came with.
func (u *wireUsage) UnmarshalJSON(data []byte) error {
	type plain wireUsage
	if json.Unmarshal(data, (*plain)(u)) != nil {
		*u = wireUsage{InputTokens: model.NoCount}
	}
	return nil
}

// wireEvent has the fields of all events but deltas.
type wireEvent struct {
	Type        string        `json:"type"`
	OutputIndex *int          `json:"output_index"`
	Item        *wireItem     `json:"item"`
	Response    *wireResponse `json:"response"`
}

// Event implements transport.Decoder.
func (d *decoder) Event(_, data []byte, emit transport.Emit) error {
	if string(data) == "[DONE]" {
		return nil // of servers that think of Chat Completions; not an end here
	}
	w, err := scan(data)
	if err != nil {
		return err
	}
	if w.kind != otherDelta {
		return d.delta(w, emit)
	}
	if !d.concerns(w.event) {
		return nil
	}
	var e wireEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return transport.Malformed("an event is not what it should be: %w", err)
	}
	switch e.Type {
	case "error":
		return transport.ParseDetail(data).StreamError()
	case "response.created":
		d.start(e.Response, emit)
		return nil
	case "response.output_item.added":
		_, err := d.added(e.OutputIndex, e.Item, emit)
		return err
	case "response.output_item.done":
		return d.done(e.OutputIndex, e.Item, emit)
	}
	return d.finish(e.Type, e.Response, emit)
}

// concerns reports whether the decoder reads the whole event. All other events repeat
// earlier ones, or are unknown.
func (d *decoder) concerns(event []byte) bool {
	switch strings.Trim(string(event), `"`) {
	case "error", "response.created", "response.output_item.added", "response.output_item.done",
		"response.completed", "response.incomplete", "response.failed":
		return true
	}
	return false
}

// EOF implements transport.Decoder: only the terminal events are an end.
func (d *decoder) EOF(transport.Emit) {}

func (d *decoder) start(r *wireResponse, emit transport.Emit) {
	if d.started {
		return // some gateways send it twice
	}
	d.started = true
	start := model.Chunk{Kind: model.Start}
	if r != nil {
		start.ID = r.ID
	}
	emit(start)
}

func (d *decoder) find(index int) *output {
	for i := len(d.outputs) - 1; i >= 0; i-- {
		if d.outputs[i].index == index {
			return &d.outputs[i]
		}
	}
	return nil
}

// added begins an output item.
func (d *decoder) added(index *int, w *wireItem, emit transport.Emit) (*output, error) {
	switch {
	case !d.started:
		return nil, transport.Malformed("an output item before the response")
	case index == nil || w == nil:
		return nil, transport.Malformed("an output item without index or content")
	case d.find(*index) != nil:
		return nil, transport.Malformed("output item %d begins twice", *index)
	}
	o := output{index: *index, item: d.items, kind: w.Type, id: w.ID, callID: w.CallID, name: w.Name, part: -1}
	switch w.Type {
	case "message":
		o.role = model.Assistant
	case "reasoning":
		o.role = model.Reasoning
	case "function_call":
		o.role = model.Call
	case "custom_tool_call":
		o.role, o.property = model.Call, d.custom[w.Name]
		if o.property == "" {
			o.property = "input" // a tool that we do not have; the turn says so
		}
	}
	d.outputs = append(d.outputs, o)
	last := &d.outputs[len(d.outputs)-1]
	if o.role == "" {
		return last, nil
	}
	if o.role == model.Call {
		d.calls++
	}
	d.items++
	emit(model.Chunk{Kind: model.ItemStart, Role: o.role, Index: o.item, ID: o.id, CallID: o.callID, Name: o.name})
	return last, nil
}

func (d *decoder) delta(w wireDelta, emit transport.Emit) error {
	o := d.find(w.index)
	if o == nil {
		return transport.Malformed("a delta for output item %d, which has not begun", w.index)
	}
	if o.ended {
		return transport.Malformed("a delta for output item %d after its end", w.index)
	}
	if o.role == "" || w.text == "" {
		return nil
	}
	text := w.text
	switch {
	case w.kind == textDelta && o.kind == "message":
	case w.kind == refusalDelta && o.kind == "message":
		d.refused = true
	case w.kind == summaryDelta && o.kind == "reasoning":
		if o.deltas && w.part != o.part {
			text = "\n\n" + text
		}
		o.part = w.part
	case w.kind == argumentsDelta && o.kind == "function_call":
	case w.kind == inputDelta && o.kind == "custom_tool_call":
		text = o.wrap(text)
	default:
		return transport.Malformed("output item %d is of type %q and gets another's delta", w.index, o.kind)
	}
	o.deltas = true
	emit(model.Chunk{Kind: model.Delta, Role: o.role, Index: o.item, Text: text})
	return nil
}

// wrap returns more of a custom tool's free text as part of JSON arguments.
func (o *output) wrap(text string) string {
	quoted := quote(text)
	inner := quoted[1 : len(quoted)-1]
	if !o.deltas {
		return "{" + quote(o.property) + `:"` + inner
	}
	return inner
}

func quote(s string) string {
	quoted, err := json.Marshal(s)
	if err != nil {
		return `""` // strings can be encoded
	}
	return string(quoted)
}

// done ends an output item; one that never began, begins.
func (d *decoder) done(index *int, w *wireItem, emit transport.Emit) error {
	if index == nil || w == nil {
		return transport.Malformed("an output item without index or content")
	}
	o := d.find(*index)
	if o == nil {
		var err error
		if o, err = d.added(index, w, emit); err != nil {
			return err
		}
	}
	if o.ended {
		return transport.Malformed("output item %d ends twice", *index)
	}
	if o.kind != w.Type {
		return transport.Malformed("output item %d begins as %q and ends as %q", *index, o.kind, w.Type)
	}
	for _, p := range w.Content {
		d.refused = d.refused || p.Type == "refusal"
	}
	if w.own {
		o.role, o.item = model.Reasoning, d.items
		d.items++
		emit(model.Chunk{Kind: model.ItemStart, Role: o.role, Index: o.item, ID: w.ID})
	}
	o.end(w, emit)
	if d.search && o.kind == "message" {
		sources(w.raw, emit)
	}
	return nil
}

// end emits the text that deltas did not contain, and the item's end.
func (o *output) end(w *wireItem, emit transport.Emit) {
	o.ended = true
	if o.role == "" {
		return
	}
	end := model.Chunk{Kind: model.ItemEnd, Role: o.role, Index: o.item, ID: w.ID}
	rest := ""
	switch o.kind {
	case "message":
		rest = join(w.Content, "")
	case "reasoning":
		rest = join(append(w.Summary, w.Content...), "\n\n")
	case "function_call":
		rest = string(transport.Arguments(w.Arguments))
		if w.Arguments != "" {
			rest = w.Arguments
		}
	case "custom_tool_call":
		if rest = `"}`; !o.deltas {
			rest = o.wrap(w.Input) + rest
		}
		o.deltas = false // the closing is always missing
	}
	if !o.deltas && rest != "" {
		emit(model.Chunk{Kind: model.Delta, Role: o.role, Index: o.item, Text: rest})
	}
	if o.role == model.Call {
		end.CallID, end.Name = w.CallID, w.Name
	}
	end.Signature = w.signature()
	emit(end)
}

func join(parts []wirePart, between string) string {
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.Text+p.Refusal)
	}
	return strings.Join(texts, between)
}

// finish reads the terminal event.
func (d *decoder) finish(kind string, r *wireResponse, emit transport.Emit) error {
	if r == nil {
		return transport.Malformed("the end without the response")
	}
	if kind == "response.failed" {
		return transport.ParseDetail(r.Error).StreamError()
	}
	d.start(r, emit)
	if len(d.outputs) == 0 { // a server that sends everything at once
		for i := range r.Output {
			if err := d.done(&i, &r.Output[i], emit); err != nil {
				return err
			}
		}
	}
	for i := range d.outputs {
		o := &d.outputs[i]
		switch {
		case o.ended:
		case o.role == model.Call && kind == "response.completed":
			return transport.Malformed("the response ends within a tool call")
		case o.role == model.Assistant:
			o.end(&wireItem{Type: o.kind, ID: o.id}, emit)
		}
	}
	emit(model.Chunk{Kind: model.End, Stop: d.stopReason(kind, r), Usage: usageOf(r)})
	return nil
}

func (d *decoder) stopReason(kind string, r *wireResponse) model.StopReason {
	if kind == "response.incomplete" {
		if r.IncompleteDetails != nil && r.IncompleteDetails.Reason == "content_filter" {
			return model.StopFilter
		}
		return model.StopMaxTokens
	}
	switch {
	case d.calls > 0:
		return model.StopToolUse
	case d.refused:
		return model.StopRefusal
	}
	return model.StopEndTurn
}

func usageOf(r *wireResponse) *model.Usage {
	if r.Usage == nil {
		return nil
	}
	return &model.Usage{
		Input: int64(r.Usage.InputTokens), CacheRead: int64(r.Usage.InputTokensDetails.CachedTokens),
		CacheWrite: int64(r.Usage.InputTokensDetails.CacheWriteTokens),
		Output:     int64(r.Usage.OutputTokens), Reasoning: int64(r.Usage.OutputTokensDetails.ReasoningTokens),
	}
}
