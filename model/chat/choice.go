package chat

import (
	"encoding/json"
	"strings"

	"github.com/settle-agent/settle/model/internal/jsonscan"
	"github.com/settle-agent/settle/model/transport"
)

// wireChoice is the part of a chunk that extends the first choice.
type wireChoice struct {
	index     int
	finish    string
	content   string
	refusal   string
	reasoning string
	field     string // name of the field that reasoning came in
	details   []byte
	extra     []byte // extra_content
	toolCalls []byte
	tokens    tokens
}

// scan reads a choice. A delta of text, which there are thousands of, costs
// one allocation: the text.
func (w *wireChoice) scan(data []byte) error {
	var delta, finish, index []byte
	choice := jsonscan.Members(data)
	for choice.Next() {
		if jsonscan.IsNull(choice.Value) {
			continue
		}
		switch string(choice.Key) {
		case "index":
			index = choice.Value
		case "delta":
			delta = choice.Value
		case "message": // servers that send the whole answer in one chunk
			if delta == nil {
				delta = choice.Value
			}
		case "token_ids": // vLLM
			w.tokens.completion = choice.Value
		case "logprobs":
			w.tokens.logprobs = choice.Value
		case "finish_reason":
			finish = choice.Value
		}
	}
	if choice.Err() != nil {
		return transport.Malformed("a choice is not an object")
	}
	var err error
	if index != nil {
		if w.index, err = jsonscan.Int(index); err != nil {
			return transport.Malformed("the index of a choice is %q", index)
		}
	}
	if finish != nil {
		if w.finish, err = jsonscan.String(finish); err != nil {
			return transport.Malformed("finish_reason is %q", finish)
		}
	}
	if delta == nil {
		return nil
	}
	return w.scanDelta(delta)
}

func (w *wireChoice) scanDelta(data []byte) error {
	var content, refusal, reasoningContent, reasoning []byte
	delta := jsonscan.Members(data)
	for delta.Next() {
		value := delta.Value
		if jsonscan.IsNull(value) {
			continue
		}
		switch string(delta.Key) {
		case "content":
			content = value
		case "refusal":
			refusal = value
		case "reasoning_content":
			reasoningContent = value
		case "reasoning":
			reasoning = value
		case "reasoning_details":
			w.details = value
		case "extra_content":
			w.extra = value
		case "tool_calls":
			w.toolCalls = value
		}
	}
	if delta.Err() != nil {
		return transport.Malformed("a delta is not an object")
	}
	var err error
	if w.content, err = w.text(content); err != nil {
		return err
	}
	if w.refusal, err = w.text(refusal); err != nil {
		return err
	}
	// Some servers send the same text in both fields.
	if w.reasoning == "" {
		w.field = fieldContent
		if w.reasoning, err = w.text(reasoningContent); err != nil {
			return err
		}
	}
	if w.reasoning == "" {
		w.field = fieldReasoning
		w.reasoning, err = w.text(reasoning)
	}
	return err
}

// The fields that servers have reasoning in, and in which they take it back.
const (
	fieldContent   = "reasoning_content"
	fieldReasoning = "reasoning"
	fieldParts     = "thinking" // parts of the content: Mistral
)

// text returns a string, or the text of a list of parts. Mistral's thinking is such a part. Unknown
// parts are ignored.
func (w *wireChoice) text(value []byte) (string, error) {
	if value == nil {
		return "", nil
	}
	if jsonscan.IsString(value) {
		return jsonscan.String(value)
	}
	var parts []map[string]json.RawMessage
	if err := json.Unmarshal(value, &parts); err != nil {
		return "", transport.Malformed("a delta that is not text")
	}
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(word(part["text"]))
		if thought := thinking(part["thinking"]); thought != "" {
			w.reasoning += thought
			w.field = fieldParts
		}
	}
	return b.String(), nil
}

// thinking returns the content of a part, which is a text or has parts of its own.
func thinking(value json.RawMessage) string {
	var parts []map[string]json.RawMessage
	if json.Unmarshal(value, &parts) != nil {
		return word(value)
	}
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(word(part["text"]))
	}
	return b.String()
}

// word returns the text of a JSON string, and "" for all else.
func word(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}
