package bound

import "sync"

const (
	// maxShared bounds the values of a Shared.
	maxShared = 512
	// MaxSharedText is the length, in bytes, of the longest text that should be the key of a Shared.
	MaxSharedText = 16 << 10
)

// Shared keeps values that many sessions have in common, by what they are made from. All users of a value have
// the same one, so nobody must change it. The zero value is empty and ready.
type Shared[K comparable, V any] struct {
	mu   sync.Mutex
	made map[K]V
}

// Of returns the value of the key, which build makes at its first use. If there are many values, since
// servers can change their tools without end, Of forgets them: later ones are made anew.
func (s *Shared[K, V]) Of(key K, build func() V) V {
	s.mu.Lock()
	defer s.mu.Unlock()
	if made, ok := s.made[key]; ok {
		return made
	}
	if s.made == nil || len(s.made) >= maxShared {
		s.made = map[K]V{}
	}
	made := build()
	s.made[key] = made
	return made
}
