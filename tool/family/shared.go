package family

import "sync"

const (
	// maxShared bounds the schemas that are shared, and maxSharedText the text of each, in bytes.
	maxShared     = 512
	maxSharedText = 16 << 10
)

// schemas are the schemas of the families' tools. The turns of all sessions have the same, and each took
// kilobytes.
var schemas sharedTexts

// sharedTexts keeps texts that are made from other texts. Texts must not be changed.
type sharedTexts struct {
	mu   sync.Mutex
	made map[[2]string][]byte
}

// of returns the result of build for a text in a form. It stores the result, except for texts
// longer than maxSharedText.
func (s *sharedTexts) of(form string, text []byte, build func() []byte) []byte {
	if len(text) > maxSharedText {
		return build()
	}
	key := [2]string{form, string(text)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if made, ok := s.made[key]; ok {
		return made
	}
	if s.made == nil || len(s.made) >= maxShared { // servers can change their tools without end
		s.made = map[[2]string][]byte{}
	}
	made := build()
	s.made[key] = made
	return made
}
