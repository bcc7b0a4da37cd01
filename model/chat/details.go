package chat

import (
	"encoding/json"
	"reflect"
	"strings"
)

// details are OpenRouter's reasoning_details
// (https://openrouter.ai/docs/use-cases/reasoning-tokens). They arrive in
// pieces, and go back whole and in their order.
type details []detail

type detail map[string]any

// add joins more to d: pieces of text with the same type and index are parts
// of one, everything else stands for itself.
func (d details) add(more details) details {
	for _, piece := range more {
		if len(d) > 0 && d[len(d)-1].continuedBy(piece) {
			d[len(d)-1].merge(piece)
			continue
		}
		d = append(d, piece)
	}
	return d
}

// text is what the pieces say in words.
func (d details) text() string {
	var b strings.Builder
	for _, piece := range d {
		for _, field := range []string{"text", "summary"} {
			if s, ok := piece[field].(string); ok {
				b.WriteString(s)
			}
		}
	}
	return b.String()
}

func (d details) encode() string {
	data, err := json.Marshal(d)
	if err != nil {
		return "[]" // what was decoded from JSON can be encoded
	}
	return string(data)
}

func (p detail) continuedBy(next detail) bool {
	kind, _ := p["type"].(string)
	return (kind == "reasoning.text" || kind == "reasoning.summary") &&
		next["type"] == kind && reflect.DeepEqual(p["index"], next["index"])
}

func (p detail) merge(next detail) {
	for name, value := range next {
		old, isText := p[name].(string)
		added, alsoText := value.(string)
		switch {
		case value == nil:
		case isText && alsoText && (name == "text" || name == "summary"):
			p[name] = old + added
		default:
			p[name] = value
		}
	}
}
