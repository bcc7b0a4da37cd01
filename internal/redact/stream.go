package redact

// Stream masks secrets in a text that arrives in pieces. What it puts out is,
// together, what [Redactor.String] makes of the pieces together. It keeps back
// no more than the beginning of a secret that the text so far may end with. A
// Stream belongs to one goroutine.
type Stream struct {
	redactor *Redactor
	tail     []byte // the beginning of a secret, with which the text so far ends
	kept     int    // how much of tail is out already, behind a mask
}

// Stream returns a Stream for one text. It follows what is added later.
func (r *Redactor) Stream() *Stream {
	return &Stream{redactor: r}
}

// Write takes the next piece and returns what can be shown now.
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

// Flush ends the text and returns what was kept back. The Stream may then be
// used for another text.
func (s *Stream) Flush() string {
	if len(s.tail) == 0 {
		return ""
	}
	out, _, _ := replace(s.redactor.current(), string(s.tail), s.kept, whole)
	s.tail, s.kept = s.tail[:0], 0
	return out
}

// Held reports how many bytes are kept back.
func (s *Stream) Held() int { return len(s.tail) - s.kept }
