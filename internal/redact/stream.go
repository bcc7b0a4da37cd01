package redact

// Stream masks secrets in a text that arrives in pieces. Its outputs together equal the
// [Redactor.String] of the pieces together. It keeps back at most the end of the text that
// can be the beginning of a secret. A Stream belongs to one goroutine.
type Stream struct {
	redactor *Redactor
	tail     []byte // end of the text so far that is the beginning of a secret
	kept     int    // number of bytes of tail that are already written out, behind a mask
}

// Stream returns a Stream for one text. Values that Add adds later apply to it.
func (r *Redactor) Stream() *Stream {
	return &Stream{redactor: r}
}

// Write takes the next piece and returns the text that can be shown now.
func (s *Stream) Write(text string) string {
	m := s.redactor.current()
	if m == nil {
		return text
	}
	done := s.kept
	if len(s.tail) > 0 {
		text = string(append(s.tail, text...))
	}
	out, tail, kept := replace(m, text, done, partial)
	s.tail, s.kept = append(s.tail[:0], tail...), kept
	return out
}

// Flush ends the text and returns the rest. The Stream can then take another text.
func (s *Stream) Flush() string {
	if len(s.tail) == 0 {
		return ""
	}
	out, _, _ := replace(s.redactor.current(), string(s.tail), s.kept, complete)
	s.tail, s.kept = s.tail[:0], 0
	return out
}
