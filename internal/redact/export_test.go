package redact

// Held returns the number of bytes that the Stream keeps back.
func (s *Stream) Held() int { return len(s.tail) - s.kept }
