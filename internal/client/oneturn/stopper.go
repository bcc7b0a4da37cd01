package oneturn

import (
	"context"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/client/stdio"
)

// stopper passes stops on to the session. The first ends the turn, the second
// takes the grace away, the third gives up.
type stopper struct {
	opening context.CancelCauseFunc // ends the steps before the session opens

	mu      sync.Mutex
	stops   []stdio.Stop
	session *settle.Session // nil until there is a turn to stop
	first   chan struct{}   // closed at the first stop
	second  chan struct{}   // closed at the second stop
	last    chan struct{}   // closed at the third stop
}

const (
	stopsForHurry  = 2
	stopsForGiveUp = 3
)

func newStopper(opening context.CancelCauseFunc) *stopper {
	return &stopper{
		opening: opening, first: make(chan struct{}), second: make(chan struct{}),
		last: make(chan struct{}),
	}
}

// listen takes stops until ctx ends.
func (s *stopper) listen(ctx context.Context, stops <-chan stdio.Stop) {
	for {
		select {
		case stop := <-stops:
			s.stop(stop)
		case <-ctx.Done():
			return
		}
	}
}

func (s *stopper) stop(stop stdio.Stop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.stops) > 0 && !stop.Insists() {
		return
	}
	s.stops = append(s.stops, stop)
	switch len(s.stops) {
	case 1:
		close(s.first)
		s.opening(stopError{stop})
	case stopsForHurry:
		close(s.second)
	case stopsForGiveUp:
		close(s.last)
	}
	s.pass()
}

// attach sets the session of the turn. It is called after the submit, so that a stop covers
// the input.
func (s *stopper) attach(session *settle.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = session
	if len(s.stops) > 0 {
		s.pass()
	}
}

// pass sends the last stop to the session.
func (s *stopper) pass() {
	if s.session == nil {
		return
	}
	session, stop := s.session, s.stops[len(s.stops)-1]
	i := settle.Interruption{By: stop.By, Reason: stop.Reason, Hurry: len(s.stops) >= stopsForHurry}
	// Ends with the turn, whose end the caller of Run waits for.
	go func() { _, _ = session.Interrupt(context.Background(), i) }()
}

func (s *stopper) all() []stdio.Stop {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stops[:len(s.stops):len(s.stops)]
}

// stopError is a stop as the cause of a cancelled context.
type stopError struct{ stdio.Stop }

func (e stopError) Error() string { return "stopped by " + e.By }
