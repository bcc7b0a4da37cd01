package gemini

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/jsonscan"
	"github.com/settle-agent/settle/model/transport"
)

// decoder reads the events of one response. At most one text is open at a time;
// calls come whole.
type decoder struct {
	search  bool // the request is a search
	ids     *transport.CallIDs
	started bool
	items   int        // begun
	role    model.Role // of the text that is open; "" for none
	calls   int
	usage   *model.Usage
}

// EOF implements transport.Decoder: only a finishReason is an end.
func (d *decoder) EOF(transport.Emit) {}

// Event implements transport.Decoder.
func (d *decoder) Event(_, data []byte, emit transport.Emit) error {
	var id, candidates, feedback, usage []byte
	failed := false
	e := jsonscan.Members(data)
	for e.Next() {
		switch string(e.Key) {
		case "responseId":
			id = e.Value
		case "candidates":
			candidates = e.Value
		case "promptFeedback":
			feedback = e.Value
		case "usageMetadata":
			usage = e.Value
		case "error":
			failed = true
		}
	}
	switch {
	case e.Err() != nil:
		return transport.Malformed("an event is %w", e.Err())
	case failed:
		return transport.ParseDetail(data).StreamError()
	case candidates == nil && feedback == nil && usage == nil:
		return nil
	}
	if !d.started {
		d.started = true
		text, _ := jsonscan.String(id) // some servers send none
		emit(model.Chunk{Kind: model.Start, ID: text})
	}
	if err := d.count(usage, emit); err != nil {
		return err
	}
	if err := refusal(feedback); err != nil {
		return err
	}
	return d.candidates(candidates, emit)
}

// refusal returns the reason why the API does not answer a prompt, or nil.
func refusal(feedback []byte) error {
	if feedback == nil || jsonscan.IsNull(feedback) {
		return nil
	}
	var f struct {
		BlockReason        string `json:"blockReason"`
		BlockReasonMessage string `json:"blockReasonMessage"`
	}
	if err := json.Unmarshal(feedback, &f); err != nil {
		return transport.Malformed("promptFeedback is not what it should be: %w", err)
	}
	if f.BlockReason == "" || f.BlockReason == "BLOCK_REASON_UNSPECIFIED" {
		return nil
	}
	fault := model.NewError(model.ErrPolicy, "the provider blocked the prompt (%s)", named(f.BlockReason))
	if f.BlockReasonMessage != "" {
		fault.Message += ": " + f.BlockReasonMessage
	}
	fault.Err, fault.Code = nil, f.BlockReason
	return fault
}

// candidates reads the first candidate; we ask for no second.
func (d *decoder) candidates(data []byte, emit transport.Emit) error {
	if data == nil || jsonscan.IsNull(data) {
		return nil
	}
	list := jsonscan.Elements(data)
	if list.Next() {
		if err := d.candidate(list.Value, emit); err != nil {
			return err
		}
	}
	if list.Err() != nil {
		return transport.Malformed("candidates are not a list")
	}
	return nil
}

func (d *decoder) candidate(data []byte, emit transport.Emit) error {
	var content, reason, message, grounding []byte
	c := jsonscan.Members(data)
	for c.Next() {
		switch string(c.Key) {
		case "content":
			content = c.Value
		case "finishReason":
			reason = c.Value
		case "finishMessage":
			message = c.Value
		case "groundingMetadata":
			grounding = c.Value
		}
	}
	if c.Err() != nil {
		return transport.Malformed("a candidate is %w", c.Err())
	}
	if err := d.content(content, emit); err != nil {
		return err
	}
	if d.search {
		sources(grounding, emit)
	}
	word, err := jsonscan.String(reason)
	if reason == nil || err != nil || word == "" || word == "FINISH_REASON_UNSPECIFIED" {
		return nil
	}
	text, _ := jsonscan.String(message)
	return d.finish(word, text, emit)
}

func (d *decoder) content(data []byte, emit transport.Emit) error {
	if data == nil || jsonscan.IsNull(data) {
		return nil
	}
	c := jsonscan.Members(data)
	for c.Next() {
		if string(c.Key) != "parts" || jsonscan.IsNull(c.Value) {
			continue
		}
		parts := jsonscan.Elements(c.Value)
		for parts.Next() {
			if err := d.part(parts.Value, emit); err != nil {
				return err
			}
		}
		if parts.Err() != nil {
			return transport.Malformed("parts are not a list")
		}
	}
	if c.Err() != nil {
		return transport.Malformed("content is %w", c.Err())
	}
	return nil
}

// wirePart is a part with text, thinking or a call. Other parts, such as results of the API's own
// tools, are ignored.
type wirePart struct {
	text, call []byte
	thought    bool
	signature  string
}

func (w *wirePart) scan(data []byte) (err error) {
	p := jsonscan.Members(data)
	for p.Next() {
		switch string(p.Key) {
		case "text":
			w.text = p.Value
		case "thought":
			w.thought = string(p.Value) == "true"
		case "functionCall":
			w.call = p.Value
		case "thoughtSignature":
			if w.signature, err = jsonscan.String(p.Value); err != nil {
				return transport.Malformed("a thoughtSignature is no text")
			}
		}
	}
	if p.Err() != nil {
		return transport.Malformed("a part is %w", p.Err())
	}
	return nil
}

func (d *decoder) part(data []byte, emit transport.Emit) error {
	var w wirePart
	if err := w.scan(data); err != nil {
		return err
	}
	switch {
	case w.call != nil && !jsonscan.IsNull(w.call):
		return d.call(w, emit)
	case w.text != nil:
		return d.say(w, emit)
	}
	return nil
}

// say continues the text that is open, or begins one. A signature ends it: parts
// with a signature are not joined with others.
func (d *decoder) say(w wirePart, emit transport.Emit) error {
	text, err := jsonscan.String(w.text)
	if err != nil {
		return transport.Malformed("a text that is none")
	}
	role := model.Assistant
	if w.thought || text == "" && w.signature != "" && d.role != model.Assistant {
		role = model.Reasoning
	}
	if text == "" && w.signature == "" {
		return nil
	}
	if d.role != role {
		d.close(nil, emit)
		d.role = role
		emit(model.Chunk{Kind: model.ItemStart, Role: role, Index: d.items})
		d.items++
	}
	if text != "" {
		emit(model.Chunk{Kind: model.Delta, Role: role, Index: d.items - 1, Text: text})
	}
	if w.signature != "" {
		d.close(signatureOf(w.signature), emit)
	}
	return nil
}

// close ends the text that is open.
func (d *decoder) close(signature *model.ProviderSignature, emit transport.Emit) {
	if d.role != "" {
		emit(model.Chunk{Kind: model.ItemEnd, Role: d.role, Index: d.items - 1, Signature: signature})
		d.role = ""
	}
}

func signatureOf(signature string) *model.ProviderSignature {
	if signature == "" {
		return nil
	}
	return &model.ProviderSignature{Format: event.SignatureThought, Data: signature}
}

// call is a call, which comes whole.
func (d *decoder) call(w wirePart, emit transport.Emit) error {
	var c struct {
		ID           string          `json:"id"`
		Name         string          `json:"name"`
		Args         json.RawMessage `json:"args"`
		PartialArgs  json.RawMessage `json:"partialArgs"`
		WillContinue bool            `json:"willContinue"`
	}
	if err := json.Unmarshal(w.call, &c); err != nil {
		return transport.Malformed("a function call is not what it should be: %w", err)
	}
	if c.PartialArgs != nil || c.WillContinue || c.Name == "" {
		return transport.Malformed("a function call comes in pieces, which was not asked for")
	}
	args := bytes.TrimSpace(c.Args)
	if len(args) == 0 || string(args) == "null" {
		args = []byte("{}")
	}
	d.close(nil, emit)
	callID := c.ID
	if callID == "" || !d.ids.Take(callID) {
		callID = d.ids.Next()
	}
	chunk := model.Chunk{Role: model.Call, Index: d.items, ID: c.ID, CallID: callID, Name: c.Name}
	d.items++
	d.calls++
	for _, kind := range []model.ChunkKind{model.ItemStart, model.Delta, model.ItemEnd} {
		chunk.Kind, chunk.Text, chunk.Signature = kind, "", nil
		switch kind {
		case model.Delta:
			chunk.Text = string(args)
		case model.ItemEnd:
			chunk.Signature = signatureOf(w.signature)
		}
		emit(chunk)
	}
	return nil
}

// count reads the counts, which come with every event.
func (d *decoder) count(data []byte, emit transport.Emit) error {
	if data == nil || jsonscan.IsNull(data) {
		return nil
	}
	var prompt, tools, cached, answer, thought transport.Count
	u := jsonscan.Members(data)
	for u.Next() {
		var to *transport.Count
		switch string(u.Key) {
		case "promptTokenCount":
			to = &prompt
		case "toolUsePromptTokenCount":
			to = &tools
		case "cachedContentTokenCount":
			to = &cached
		case "candidatesTokenCount":
			to = &answer
		case "thoughtsTokenCount":
			to = &thought
		default:
			continue
		}
		if !jsonscan.IsNull(u.Value) {
			*to = transport.ReadCount(u.Value)
		}
	}
	if u.Err() != nil {
		prompt = model.NoCount // the answer that it came with is kept
	}
	first := d.usage == nil
	if first {
		d.usage = &model.Usage{}
	}
	*d.usage = model.Usage{
		Input:     transport.Total(prompt, tools),
		CacheRead: int64(cached),
		Output:    transport.Total(answer, thought),
		Reasoning: int64(thought),
	}
	if first { // later reports have the same input count
		now := *d.usage
		emit(model.Chunk{Kind: model.UsageReport, Usage: &now})
	}
	return nil
}

// finish is the end (https://ai.google.dev/api/generate-content#FinishReason).
func (d *decoder) finish(reason, message string, emit transport.Emit) error {
	stop := model.StopEndTurn
	switch reason {
	case "STOP":
		if d.calls > 0 {
			stop = model.StopToolUse
		}
	case "MAX_TOKENS":
		stop = model.StopMaxTokens
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		stop = model.StopFilter
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS":
		return ended(model.ErrToolUse, reason, message)
	default: // OTHER, MALFORMED_RESPONSE, MISSING_THOUGHT_SIGNATURE, and unknown reasons
		return ended(model.ErrServer, reason, message)
	}
	d.close(nil, emit)
	emit(model.Chunk{Kind: model.End, Stop: stop, Usage: d.usage})
	return nil
}

// ended is the error for a response that the API gave up.
func ended(kind model.ErrorKind, reason, message string) error {
	fault := model.NewError(kind, "the provider ended the response (%s)", named(reason))
	if message != "" {
		fault.Message += ": " + message
	}
	fault.Err, fault.Code = nil, reason
	return fault
}

// named returns a reason as people read it.
func named(reason string) string { return strings.ToLower(strings.ReplaceAll(reason, "_", " ")) }
