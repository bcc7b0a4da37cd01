package anthropic

import (
	"bytes"
	"encoding/json"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/jsonscan"
	"github.com/settle-agent/settle/model/transport"
)

// decoder reads the events of one response.
type decoder struct {
	search  bool // the request is a search
	started bool
	id      string
	initial []wireBlock // that came with the message's start
	blocks  []openBlock // by the API's index; the API counts from 0 without gaps
	items   int         // of ours, begun
	calls   int
	usage   usage
	stop    string
}

// openBlock is a content block. Blocks of unknown types have no role; blocks that only the API
// reads are kept raw.
type openBlock struct {
	kind      string
	raw       json.RawMessage
	more      []byte // that deltas added to a raw block: its input, or its content
	role      model.Role
	item      int // our index
	id, name  string
	input     json.RawMessage // that came with the block's start
	deltas    bool
	signature []byte
	data      string
	ended     bool
}

type usage struct {
	InputTokens              *transport.Count `json:"input_tokens"`
	CacheReadInputTokens     *transport.Count `json:"cache_read_input_tokens"`
	CacheCreationInputTokens *transport.Count `json:"cache_creation_input_tokens"`
	OutputTokens             *transport.Count `json:"output_tokens"`
	OutputTokensDetails      *struct {
		ThinkingTokens transport.Count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// UnmarshalJSON implements json.Unmarshaler. A usage that cannot be read does not cost
// the answer that it came with.
func (u *usage) UnmarshalJSON(data []byte) error {
	type plain usage
	if json.Unmarshal(data, (*plain)(u)) != nil {
		none := transport.Count(model.NoCount)
		*u = usage{InputTokens: &none}
	}
	return nil
}

// wireEvent has the fields of all events but deltas.
type wireEvent struct {
	Type    string `json:"type"`
	Index   *int   `json:"index"`
	Message *struct {
		ID         string      `json:"id"`
		Content    []wireBlock `json:"content"`
		StopReason string      `json:"stop_reason"`
		Usage      *usage      `json:"usage"`
	} `json:"message"`
	ContentBlock *wireBlock `json:"content_block"`
	Delta        *struct {
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage *usage `json:"usage"`
}

// Event implements transport.Decoder.
func (d *decoder) Event(_, data []byte, emit transport.Emit) error {
	delta, ok, err := scanDelta(data)
	if err != nil {
		return err
	}
	if ok {
		return d.delta(delta, emit)
	}
	var e wireEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return transport.Malformed("an event is not what it should be: %w", err)
	}
	switch e.Type {
	case "message_start":
		return d.messageStart(e, emit)
	case "content_block_start":
		return d.blockStart(e, emit)
	case "content_block_stop":
		return d.blockStop(e, emit)
	case "message_delta":
		return d.messageDelta(e, emit)
	case "message_stop":
		return d.messageStop(emit)
	case "error":
		return transport.ParseDetail(data).StreamError()
	}
	return nil // ping, and unknown events
}

// EOF implements transport.Decoder: only message_stop is an end.
func (d *decoder) EOF(transport.Emit) {}

// messageStart begins the message. Some gateways send it twice; at another message, the
// first one ends.
func (d *decoder) messageStart(e wireEvent, emit transport.Emit) error {
	id := ""
	if e.Message != nil {
		id, d.initial, d.stop = e.Message.ID, e.Message.Content, e.Message.StopReason
	}
	if d.started && id != d.id {
		d.abandon(emit)
	}
	if !d.started {
		emit(model.Chunk{Kind: model.Start, ID: id})
	}
	d.started, d.id = true, id
	if e.Message != nil && e.Message.Usage != nil {
		d.usage.add(e.Message.Usage)
		emit(model.Chunk{Kind: model.UsageReport, Usage: d.usage.total()})
	}
	return nil
}

// abandon ends the blocks that are open, for the blocks of another message.
func (d *decoder) abandon(emit transport.Emit) {
	for i := range d.blocks {
		b := &d.blocks[i]
		switch {
		case b.ended:
		case b.role == model.Call:
			d.calls--
			emit(model.Chunk{Kind: model.ItemDrop, Role: b.role, Index: b.item})
		default:
			b.signature = nil // it is not whole
			d.end(b, emit)
		}
	}
	d.blocks = nil
}

func (d *decoder) blockStart(e wireEvent, emit transport.Emit) error {
	if !d.started {
		return transport.Malformed("a content block before the message")
	}
	if e.Index == nil || e.ContentBlock == nil {
		return transport.Malformed("a content block without index or content")
	}
	if *e.Index != len(d.blocks) {
		return transport.Malformed("content block %d begins where %d should", *e.Index, len(d.blocks))
	}
	d.begin(e.ContentBlock, emit)
	return nil
}

// begin begins a content block.
func (d *decoder) begin(c *wireBlock, emit transport.Emit) {
	b := openBlock{kind: c.Type, id: c.ID, name: c.Name, input: c.Input, data: c.Data, item: d.items}
	first := ""
	switch c.Type {
	case "text":
		b.role, first = model.Assistant, c.Text
	case "thinking":
		b.role, first = model.Reasoning, c.Thinking
		b.signature = []byte(c.Signature)
	case "redacted_thinking":
		b.role = model.Reasoning
	case "tool_use":
		b.role = model.Call
		d.calls++
	default:
		if opaque(c.Type) {
			b.role, b.raw = model.Reasoning, bytes.Clone(c.raw)
		}
	}
	d.blocks = append(d.blocks, b)
	if b.role == "" {
		return
	}
	d.items++
	start := model.Chunk{Kind: model.ItemStart, Role: b.role, Index: b.item}
	if b.role == model.Call {
		start.ID, start.CallID, start.Name = b.id, b.id, b.name
	}
	emit(start)
	if d.search && c.Type == "web_search_tool_result" {
		sources(c.raw, emit)
	}
	if first != "" {
		emit(model.Chunk{Kind: model.Delta, Role: b.role, Index: b.item, Text: first})
	}
}

// block returns the open block with the index.
func (d *decoder) block(index *int) (*openBlock, error) {
	if index == nil || *index < 0 || *index >= len(d.blocks) {
		return nil, transport.Malformed("an event for a content block that has not begun")
	}
	b := &d.blocks[*index]
	if b.ended {
		return nil, transport.Malformed("an event for content block %d after its end", *index)
	}
	return b, nil
}

func (d *decoder) delta(w wireDelta, emit transport.Emit) error {
	b, err := d.block(&w.index)
	if err != nil {
		return err
	}
	switch {
	case b.role == "":
		return nil
	case b.raw != nil:
		if w.kind == inputDelta {
			b.more = append(b.more, w.text...)
		}
		return nil
	case w.kind == signatureDelta && b.kind == "thinking":
		b.signature = append(b.signature, w.text...)
		return nil
	case w.kind == textDelta && b.kind == "text",
		w.kind == thinkingDelta && b.kind == "thinking",
		w.kind == inputDelta && b.kind == "tool_use":
		if w.text == "" {
			return nil
		}
		b.deltas = true
		emit(model.Chunk{Kind: model.Delta, Role: b.role, Index: b.item, Text: w.text})
		return nil
	case w.kind == otherDelta:
		return nil
	}
	return transport.Malformed("content block %d is of type %q and gets another's delta", w.index, b.kind)
}

func (d *decoder) blockStop(e wireEvent, emit transport.Emit) error {
	b, err := d.block(e.Index)
	if err != nil {
		return err
	}
	d.end(b, emit)
	return nil
}

func (d *decoder) end(b *openBlock, emit transport.Emit) {
	b.ended = true
	end := model.Chunk{Kind: model.ItemEnd, Role: b.role, Index: b.item}
	switch b.kind {
	case "thinking":
		end.Signature = &model.ProviderSignature{Format: event.SignatureThinking, Data: string(b.signature)}
		if len(b.signature) == 0 { // of a server that signs nothing
			end.Signature = &model.ProviderSignature{Format: event.SignatureUnsigned}
		}
	case "redacted_thinking":
		end.Signature = &model.ProviderSignature{Format: event.SignatureRedacted, Data: b.data}
	case "tool_use":
		end.ID, end.CallID, end.Name = b.id, b.id, b.name
		if !b.deltas {
			// Some servers send the input whole; a call without arguments has no deltas.
			emit(
				model.Chunk{
					Kind:  model.Delta,
					Role:  b.role,
					Index: b.item,
					Text:  string(transport.Arguments(string(b.input))),
				},
			)
		}
	case "text":
	default:
		if b.raw == nil {
			return
		}
		end.Signature = &model.ProviderSignature{Format: event.SignatureBlock, Data: b.assembled()}
	}
	emit(end)
}

func (d *decoder) messageDelta(e wireEvent, emit transport.Emit) error {
	if !d.started {
		return transport.Malformed("the message changes before it began")
	}
	if e.Delta != nil && e.Delta.StopReason != "" {
		d.stop = e.Delta.StopReason
	}
	if e.Usage != nil {
		d.usage.add(e.Usage)
		emit(model.Chunk{Kind: model.UsageReport, Usage: d.usage.total()})
	}
	return nil
}

func (d *decoder) messageStop(emit transport.Emit) error {
	if !d.started {
		return transport.Malformed("the message ends before it began")
	}
	for i := range d.initial {
		if len(d.blocks) <= i { // a server that sends everything at once
			d.begin(&d.initial[i], emit)
			d.end(&d.blocks[i], emit)
		}
	}
	for i := range d.blocks {
		b := &d.blocks[i]
		if b.ended {
			continue
		}
		if b.role == model.Call && d.stop != "max_tokens" {
			return transport.Malformed("the message ends within a tool call")
		}
		if b.role != model.Call {
			d.end(b, emit)
		}
	}
	emit(model.Chunk{Kind: model.End, Stop: d.stopReason(), Usage: d.usage.total()})
	return nil
}

// stopReason maps the API's reasons; unknown reasons stay unchanged.
func (d *decoder) stopReason() model.StopReason {
	switch d.stop {
	case "model_context_window_exceeded":
		return model.StopMaxTokens
	case "":
		if d.calls > 0 {
			return model.StopToolUse
		}
		return model.StopEndTurn
	}
	return model.StopReason(d.stop) // model's names are the API's
}

// add replaces the counts of u by the known counts of v: the API's counts are cumulative.
func (u *usage) add(v *usage) {
	for _, pair := range []struct{ to, from **transport.Count }{
		{&u.InputTokens, &v.InputTokens},
		{&u.OutputTokens, &v.OutputTokens},
		{&u.CacheReadInputTokens, &v.CacheReadInputTokens},
		{&u.CacheCreationInputTokens, &v.CacheCreationInputTokens},
	} {
		if *pair.from != nil {
			*pair.to = *pair.from
		}
	}
	if v.OutputTokensDetails != nil {
		u.OutputTokensDetails = v.OutputTokensDetails
	}
}

func (u *usage) total() *model.Usage {
	number := func(n *transport.Count) transport.Count {
		if n == nil {
			return 0
		}
		return *n
	}
	read, written := number(u.CacheReadInputTokens), number(u.CacheCreationInputTokens)
	t := &model.Usage{
		Input:     transport.Total(number(u.InputTokens), read, written),
		CacheRead: int64(read), CacheWrite: int64(written), Output: int64(number(u.OutputTokens)),
	}
	if u.OutputTokensDetails != nil {
		t.Reasoning = int64(u.OutputTokensDetails.ThinkingTokens)
	}
	return t
}

type deltaKind uint8

const (
	otherDelta deltaKind = iota
	textDelta
	thinkingDelta
	inputDelta
	signatureDelta
)

type wireDelta struct {
	index int
	kind  deltaKind
	text  string
}

// scanDelta reads a content_block_delta, the event that there are thousands
// of, with one allocation: its text. ok is false for other events.
func scanDelta(data []byte) (w wireDelta, ok bool, err error) {
	var delta []byte
	w.index = -1
	event := jsonscan.Members(data)
	for event.Next() {
		switch string(event.Key) {
		case "type":
			ok = jsonscan.Is(event.Value, "content_block_delta")
		case "index":
			if w.index, err = jsonscan.Int(event.Value); err != nil {
				return w, false, transport.Malformed("an index is %q", event.Value)
			}
		case "delta":
			delta = event.Value
		}
	}
	if err := event.Err(); err != nil {
		return w, false, transport.Malformed("an event is %w", err)
	}
	if !ok {
		return w, false, nil
	}
	var text []byte
	fields := jsonscan.Members(delta)
	for fields.Next() {
		switch string(fields.Key) {
		case "type":
			w.kind = kindOf(fields.Value)
		case "text", "thinking", "partial_json", "signature":
			text = fields.Value
		}
	}
	if fields.Err() != nil || w.kind != otherDelta && text == nil {
		return w, false, transport.Malformed("a delta without content")
	}
	if w.kind != otherDelta {
		if w.text, err = jsonscan.String(text); err != nil {
			return w, false, transport.Malformed("a delta that is not text")
		}
	}
	return w, true, nil
}

func kindOf(value []byte) deltaKind {
	switch {
	case jsonscan.Is(value, "text_delta"):
		return textDelta
	case jsonscan.Is(value, "thinking_delta"):
		return thinkingDelta
	case jsonscan.Is(value, "input_json_delta"):
		return inputDelta
	case jsonscan.Is(value, "signature_delta"):
		return signatureDelta
	}
	return otherDelta
}
