package modeltest

import (
	"bytes"
	"sync"
)

// script hands out the turns of a scenario.
type script struct {
	mu    sync.Mutex
	turns []Turn
	loop  bool
	// played has, for each turn, the number of requests that it has answered and whether it has
	// ended; guarded by mu, as is turns.
	played []progress
}

type progress struct {
	requests int
	ended    bool
}

// next returns the turn for a request, its index, and the faults of it that
// strike; index -1 if there is no turn left.
func (s *script) next(body []byte) (turn Turn, index int, faults []Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grow()
	i := s.find(body)
	if i < 0 && s.loop && len(s.turns) > 0 {
		clear(s.played)
		i = s.find(body)
	}
	if i < 0 {
		return Turn{}, -1, nil
	}
	t, p := s.turns[i], &s.played[i]
	faults, last := t.strikes(p.requests)
	p.requests++
	p.ended = last
	return t, i, faults
}

// find returns the first turn that is not over and wants the request.
func (s *script) find(body []byte) int {
	for i, t := range s.turns {
		if !s.played[i].ended && (t.When == "" || bytes.Contains(body, []byte(t.When))) {
			return i
		}
	}
	return -1
}

func (s *script) grow() {
	for len(s.played) < len(s.turns) {
		s.played = append(s.played, progress{})
	}
}

func (s *script) add(turns []Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns = append(s.turns[:len(s.turns):len(s.turns)], turns...)
}

func (s *script) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grow()
	n := 0
	for _, p := range s.played {
		if !p.ended {
			n++
		}
	}
	return n
}

// strikes returns the faults for the turn's nth request, from 0, and whether
// the turn is over with it: it is not while a fault that strikes a number of
// requests strikes.
func (t Turn) strikes(n int) (faults []Fault, last bool) {
	last = true
	for _, f := range t.Faults {
		if f.Times == 0 || f.Times == Always || n < f.Times {
			faults = append(faults, f)
			last = last && f.Times == 0
		}
	}
	return faults, last
}
