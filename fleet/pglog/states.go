package pglog

import (
	"slices"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
)

const (
	// minKeptBytes is the minimum size of a log whose state is kept, in bytes: a shorter log is read in one page.
	minKeptBytes = 64 << 10
	// maxKeptBytes is the maximum size of all logs whose states are kept, in bytes.
	maxKeptBytes = 32 << 20
)

// sessionState is the state of a session between two openings by this process.
type sessionState struct {
	session string
	state   event.State
	epoch   int64 // the writer's
	born    time.Time
	bytes   int64 // of the log
}

// continues reports whether the state is the beginning of an opened log, whose last event is seq. Each
// writer has an epoch of its own, one above the writer's before: so no other one was between, and the
// database is not an older one that was restored.
func (k sessionState) continues(o *sessionLog, seq int64) bool {
	return k.state.Seq > 0 && int64(k.state.Seq) == seq && k.born.Equal(o.born) && // it counts events
		(k.epoch == o.epoch || k.epoch == o.epoch-1)
}

// states holds the states that are kept, the latest one last.
type states struct {
	all   []sessionState
	bytes int64
}

// take removes the state of a session, and returns it; zero for none.
func (s *states) take(session string) (k sessionState) {
	n := slices.IndexFunc(s.all, func(k sessionState) bool { return k.session == session })
	if n < 0 {
		return k
	}
	k = s.all[n]
	s.all, s.bytes = slices.Delete(s.all, n, n+1), s.bytes-k.bytes
	return k
}

// add keeps a state, and drops the earliest ones until all have room.
func (s *states) add(k sessionState) {
	s.take(k.session)
	if k.bytes < minKeptBytes || k.bytes > maxKeptBytes {
		return
	}
	s.all, s.bytes = append(s.all, k), s.bytes+k.bytes
	for s.bytes > maxKeptBytes {
		s.take(s.all[0].session)
	}
}

var _ settle.StateLog = (*sessionLog)(nil)

// State implements [settle.StateLog].
func (o *sessionLog) State() (s event.State) {
	s, o.initialState = o.initialState, s
	return s
}

// Keep implements [settle.StateLog].
func (o *sessionLog) Keep(s event.State) {
	o.logs.mu.Lock()
	defer o.logs.mu.Unlock()
	o.logs.states.add(sessionState{session: o.session, state: s, epoch: o.epoch, born: o.born, bytes: o.bytes.Load()})
}
