package chat

import (
	"bytes"
	"encoding/json"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/jsonscan"
	"github.com/settle-agent/settle/model/transport"
)

// decoder reads the chunks of one response. At most one message or reasoning
// item is open at a time, the flow; calls are kept apart, since their deltas
// may be interleaved.
type decoder struct {
	ids     *transport.CallIDs
	started bool
	items   int // begun
	flow    flow
	calls   []*call
	late    attachment
	finish  string // finish_reason, once there was one
	refused bool
	prompt  []byte // prompt_token_ids of the chunk
	usage   *model.Usage
}

// flow is the message or reasoning item that is open; without a role, none is.
type flow struct {
	role    model.Role
	index   int
	field   string // that reasoning came in
	details details
	altered bool // the details differ from the signed ones, and cannot be sent back
}

// EOF implements transport.Decoder: a finish_reason is an end, for the servers
// that send nothing after it.
func (d *decoder) EOF(emit transport.Emit) {
	if d.finish != "" && d.finishError() == nil {
		d.end(emit)
	}
}

// Event implements transport.Decoder.
func (d *decoder) Event(name, data []byte, emit transport.Emit) error {
	if string(data) == "[DONE]" {
		if !d.started {
			return transport.Malformed("it is empty")
		}
		return d.done(emit)
	}
	var id, choices, usage []byte
	d.prompt = nil
	failed := string(name) == "error"
	chunk := jsonscan.Members(data)
	for chunk.Next() {
		switch string(chunk.Key) {
		case "id":
			id = chunk.Value
		case "choices":
			choices = chunk.Value
		case "usage":
			usage = chunk.Value
		case "prompt_token_ids": // vLLM, in the first chunk
			d.prompt = chunk.Value
		case "error":
			failed = failed || !jsonscan.IsNull(chunk.Value)
		case "object":
			failed = failed || jsonscan.Is(chunk.Value, "error") // vLLM
		}
	}
	if err := chunk.Err(); err != nil {
		return transport.Malformed("a chunk is %w", err)
	}
	if failed {
		return transport.ParseDetail(data).StreamError()
	}
	if choices == nil && usage == nil {
		return nil
	}
	d.start(id, emit)
	if err := d.choices(choices, emit); err != nil {
		return err
	}
	return d.count(usage, emit)
}

func (d *decoder) start(id []byte, emit transport.Emit) {
	if d.started {
		return
	}
	d.started = true
	text, _ := jsonscan.String(id) // some servers send a number, or none
	emit(model.Chunk{Kind: model.Start, ID: text})
}

// choices reads the first choice; we ask for no second.
func (d *decoder) choices(data []byte, emit transport.Emit) error {
	if data == nil || jsonscan.IsNull(data) {
		return nil
	}
	list := jsonscan.Elements(data)
	for list.Next() {
		var w wireChoice
		if err := w.scan(list.Value); err != nil {
			return err
		}
		if w.index != 0 {
			continue
		}
		if err := d.choice(w, emit); err != nil {
			return err
		}
	}
	if list.Err() != nil {
		return transport.Malformed("choices are not a list")
	}
	return nil
}

func (d *decoder) choice(w wireChoice, emit transport.Emit) error {
	w.tokens.prompt = d.prompt
	report(&w.tokens, emit)
	if w.details != nil || w.reasoning != "" {
		if err := d.reason(w, emit); err != nil {
			return err
		}
	}
	if w.content != "" {
		d.say(model.Assistant, "", w.content, emit)
	}
	if w.refusal != "" {
		d.refused = true
		d.say(model.Assistant, "", w.refusal, emit)
	}
	if w.extra != nil {
		d.late.Message.add(members{"extra_content": bytes.Clone(w.extra)})
	}
	if w.toolCalls != nil {
		if err := d.toolCalls(w.toolCalls, emit); err != nil {
			return err
		}
	}
	if w.finish != "" {
		d.finish = w.finish
	}
	return nil
}

// say continues the flow of the role, or begins one.
func (d *decoder) say(role model.Role, field, text string, emit transport.Emit) {
	if d.flow.role != role {
		d.closeFlow(emit)
		d.closeComplete(emit)
		d.flow = flow{role: role, index: d.items, field: field}
		d.items++
		emit(model.Chunk{Kind: model.ItemStart, Role: role, Index: d.flow.index})
	}
	if text != "" {
		emit(model.Chunk{Kind: model.Delta, Role: role, Index: d.flow.index, Text: text})
	}
}

func (d *decoder) reason(w wireChoice, emit transport.Emit) error {
	var more details
	if w.details != nil {
		if err := json.Unmarshal(w.details, &more); err != nil {
			return transport.Malformed("reasoning_details are not a list of objects")
		}
	}
	text := w.reasoning
	if text == "" {
		text = more.text()
	}
	if text == "" && len(more) == 0 {
		return nil
	}
	d.say(model.Reasoning, w.field, text, emit)
	var repeated bool
	d.flow.details, repeated = d.flow.details.add(more)
	d.flow.altered = d.flow.altered || repeated
	return nil
}

func (d *decoder) closeFlow(emit transport.Emit) {
	if d.flow.role == "" {
		return
	}
	end := model.Chunk{Kind: model.ItemEnd, Role: d.flow.role, Index: d.flow.index}
	if d.flow.role == model.Reasoning {
		switch {
		case len(d.flow.details) > 0 && !d.flow.altered:
			end.Signature = &model.ProviderSignature{Format: event.SignatureDetails, Data: d.flow.details.encode()}
		case d.flow.field != "":
			end.Signature = &model.ProviderSignature{Format: event.SignatureField, Data: d.flow.field}
		}
	}
	emit(end)
	d.flow = flow{}
}

type wireUsage struct {
	PromptTokens        transport.Count `json:"prompt_tokens"`
	CompletionTokens    transport.Count `json:"completion_tokens"`
	PromptTokensDetails *struct {
		CachedTokens     transport.Count `json:"cached_tokens"`
		CacheWriteTokens transport.Count `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails *struct {
		ReasoningTokens transport.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	PromptCacheHitTokens transport.Count `json:"prompt_cache_hit_tokens"` // DeepSeek
}

func (d *decoder) count(data []byte, emit transport.Emit) error {
	if data == nil || jsonscan.IsNull(data) {
		return nil
	}
	var w wireUsage
	if json.Unmarshal(data, &w) != nil {
		w = wireUsage{PromptTokens: model.NoCount} // the answer that it came with is kept
	}
	u := &model.Usage{
		Input:     int64(w.PromptTokens),
		Output:    int64(w.CompletionTokens),
		CacheRead: int64(w.PromptCacheHitTokens),
	}
	if d := w.PromptTokensDetails; d != nil {
		u.CacheWrite = int64(d.CacheWriteTokens)
		if u.CacheRead = max(u.CacheRead, int64(d.CachedTokens)); d.CachedTokens < 0 || w.PromptCacheHitTokens < 0 {
			u.CacheRead = model.NoCount
		}
	}
	if w.CompletionTokensDetails != nil {
		u.Reasoning = int64(w.CompletionTokensDetails.ReasoningTokens)
	}
	d.usage = u
	emit(model.Chunk{Kind: model.UsageReport, Usage: u})
	return nil
}

// done reads the end that [DONE] or a finish_reason is.
func (d *decoder) done(emit transport.Emit) error {
	if err := d.finishError(); err != nil {
		return err
	}
	d.end(emit)
	return nil
}

// finishError returns the error of a finish_reason that reports a failure.
func (d *decoder) finishError() error {
	switch d.finish {
	case "error", "abort":
		return model.NewError(model.ErrServer, "the server gave up: finish_reason is %q", d.finish)
	case "insufficient_system_resource": // DeepSeek
		return model.NewError(model.ErrOverloaded, "the server is overloaded: finish_reason is %q", d.finish)
	}
	return nil
}

func (d *decoder) end(emit transport.Emit) {
	d.closeFlow(emit)
	stop := d.stopReason()
	for _, c := range d.calls {
		// A truncated call never runs; the turn ends the calls that stay open.
		if !c.ended && (stop == model.StopToolUse || c.complete()) {
			c.end(emit)
		}
	}
	if signature := d.late.signature(); signature != nil {
		emit(model.Chunk{Kind: model.ItemStart, Role: model.Reasoning, Index: d.items})
		emit(model.Chunk{Kind: model.ItemEnd, Role: model.Reasoning, Index: d.items, Signature: signature})
		d.items++
	}
	emit(model.Chunk{Kind: model.End, Stop: stop, Usage: d.usage})
}

// stopReason maps finish_reason. Calls count for any finish_reason: many servers send
// "stop" with tool calls.
func (d *decoder) stopReason() model.StopReason {
	switch d.finish {
	case "length", "max_tokens", "model_length":
		return model.StopMaxTokens
	case "content_filter":
		return model.StopFilter
	}
	switch {
	case len(d.calls) > 0:
		return model.StopToolUse
	case d.refused:
		return model.StopRefusal
	}
	return model.StopEndTurn
}
