package openai

import (
	"github.com/settle-agent/settle/model/internal/jsonscan"
	"github.com/settle-agent/settle/model/transport"
)

type deltaKind uint8

const (
	otherDelta deltaKind = iota // not a delta, or not one that we know
	textDelta
	refusalDelta
	summaryDelta
	argumentsDelta
	inputDelta
)

// wireDelta is a delta event; event is any event's type, in quotes.
type wireDelta struct {
	event []byte
	kind  deltaKind
	index int
	part  int
	text  string
}

// scan reads a delta, the event that there are thousands of, with one
// allocation: its text. Of other events it reads the type.
func scan(data []byte) (wireDelta, error) {
	w := wireDelta{index: -1}
	var text, index, part []byte
	event := jsonscan.Members(data)
	for event.Next() {
		switch string(event.Key) {
		case "type":
			w.event = event.Value
		case "delta":
			text = event.Value
		case "output_index":
			index = event.Value
		case "summary_index", "content_index":
			part = event.Value
		}
	}
	if err := event.Err(); err != nil {
		return w, transport.Malformed("an event is %w", err)
	}
	if w.kind = kindOf(w.event); w.kind == otherDelta {
		return w, nil
	}
	var err error
	if w.index, err = jsonscan.Int(index); err != nil {
		return w, transport.Malformed("a delta without output_index")
	}
	if part != nil {
		if w.part, err = jsonscan.Int(part); err != nil {
			return w, transport.Malformed("the index of a part is %q", part)
		}
	}
	if w.text, err = jsonscan.String(text); err != nil {
		return w, transport.Malformed("a delta that is not text")
	}
	return w, nil
}

func kindOf(event []byte) deltaKind {
	const prefix, suffix = `"response.`, `.delta"`
	if len(event) < len(prefix)+len(suffix) || string(event[:len(prefix)]) != prefix ||
		string(event[len(event)-len(suffix):]) != suffix {
		return otherDelta
	}
	switch string(event[len(prefix) : len(event)-len(suffix)]) {
	case "output_text":
		return textDelta
	case "refusal":
		return refusalDelta
	case "reasoning_summary_text", "reasoning_text":
		return summaryDelta
	case "function_call_arguments":
		return argumentsDelta
	case "custom_tool_call_input":
		return inputDelta
	}
	return otherDelta
}
