package modeltest

import (
	"bytes"
	"strconv"
)

// stream renders the events of one response.
type stream struct {
	*rendering
	yield func(frame) bool
	buf   []byte // the last delta
}

// send renders one event. In Chat Completions the body is a choice, in Gemini's
// API a candidate, and there are no kinds.
func (s *stream) send(f frame, kind string, body object) bool {
	f.event, f.data = kind, encode(s.wrap(kind, body, s.sequence))
	s.sequence++
	return s.yield(f)
}

// wrap adds the common fields of the dialect's events to the body.
func (s *stream) wrap(kind string, body object, sequence int) object {
	switch s.dialect {
	case Chat:
		return s.chunk(s.tokens(body, sequence))
	case Gemini:
		return s.geminiObject(body)
	}
	body["type"] = kind
	if s.dialect == Responses {
		body["sequence_number"] = sequence
	}
	return body
}

// stencil is an event of which only a text and a number change, cut where
// these go, so that a flood of deltas costs little.
type stencil struct {
	kind  string
	parts [3][]byte // before the text, before the number, after it
}

// Placeholders of a stencil for the text and the number.
const (
	textMark   = "modeltest text mark"
	numberMark = 1234567890123456789
)

// stencil returns the stencil of an event whose body has textMark for a text.
func (s *stream) stencil(kind string, body object) stencil {
	before, after, _ := bytes.Cut(encode(s.wrap(kind, body, numberMark)), []byte(`"`+textMark+`"`))
	middle, after, numbered := bytes.Cut(after, strconv.AppendInt(nil, numberMark, 10))
	if !numbered {
		return stencil{kind: kind, parts: [3][]byte{before, middle}}
	}
	return stencil{kind: kind, parts: [3][]byte{before, middle, after}}
}

// delta renders an event by its stencil. Its data is valid until the next one.
func (s *stream) delta(f frame, st stencil, text string) bool {
	b := append(s.buf[:0], st.parts[0]...)
	b = append(appendQuoted(b, text), st.parts[1]...)
	if st.parts[2] != nil {
		b = append(strconv.AppendInt(b, int64(s.sequence), 10), st.parts[2]...)
	}
	s.sequence++
	s.buf = b
	f.event, f.data, f.delta = st.kind, b, true
	return s.yield(f)
}

// appendQuoted appends a JSON string.
func appendQuoted(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return append(b, encode(s)...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// deltas renders the text of an item, chunk by chunk.
func (s *stream) deltas(it Item, text string, st stencil) bool {
	for _, chunk := range it.chunks(text) {
		if !s.delta(frame{burst: s.burst(it)}, st, chunk) {
			return false
		}
	}
	return true
}

// arguments renders the arguments of the call just begun.
func (s *stream) arguments(it Item, text string, st stencil, f frame) bool {
	chunks, half := s.pieces(it, text)
	for k, chunk := range chunks {
		d := frame{}
		if k == len(chunks)-1 {
			d = f
		}
		if k == half {
			d.half = s.calls
		}
		if !s.delta(d, st, chunk) {
			return false
		}
	}
	return true
}
