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

// add joins more to d: pieces of text with the same type and index are parts of one
// detail, all other pieces are separate. It reports whether a detail was signed a second
// time. Then the stream repeats itself, the joined text differs from the text that the
// provider signed, and the provider would refuse every later request with it.
func (d details) add(more details) (_ details, repeated bool) {
	for _, piece := range more {
		var last detail
		if len(d) > 0 {
			last = d[len(d)-1]
		}
		switch {
		case last.continuedBy(piece):
			repeated = repeated || last.signed() && piece.signed()
			last.merge(piece)
		default:
			repeated = repeated || last != nil && reflect.DeepEqual(last, piece)
			d = append(d, piece)
		}
	}
	return d, repeated
}

// text joins the texts and summaries of the pieces.
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
		return "[]" // decoded JSON can be encoded
	}
	return string(data)
}

func (p detail) continuedBy(next detail) bool {
	kind, _ := p["type"].(string)
	return (kind == "reasoning.text" || kind == "reasoning.summary") &&
		next["type"] == kind && reflect.DeepEqual(p["index"], next["index"])
}

func (p detail) signed() bool {
	signature, _ := p["signature"].(string)
	return signature != ""
}

// signature reports whether p is the signature of a text and nothing more.
func (p detail) signature() bool {
	text, _ := p["text"].(string)
	return text == "" && p["type"] == "reasoning.text" && p.signed()
}

// join returns the details of a message from the details of its items. A signature that
// came after the start of the message belongs to the text before it.
func (d details) join(more details) details {
	for _, piece := range more {
		if n := len(d); n > 0 && piece.signature() && !d[n-1].signed() && d[n-1].continuedBy(piece) {
			d[n-1].merge(piece)
			continue
		}
		d = append(d, piece)
	}
	return d
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
