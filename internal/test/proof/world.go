package proof

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/test/shake"
	"github.com/settle-agent/settle/modeltest"
)

// Secret is known to every session, and must not come out of it (C15).
const Secret = "hunter2-hunter2-hunter2"

const (
	defaultGrace = 250 * time.Millisecond
	// endMargin is the time that C9 allows beyond the grace. strayMargin is the further time in
	// which everything that a turn leaves running must end after its terminal event.
	endMargin   = 250 * time.Millisecond
	strayMargin = 200 * time.Millisecond
	// shakeMargin bounds the virtual time that goroutines yield if the schedule is varied, some
	// nanoseconds each time.
	shakeMargin = time.Millisecond
	// patience is longer than the longest run that ends by itself, with all retries and the longest
	// stall bounds together.
	patience = 48 * time.Hour
)

// world is all that a script plays in.
type world struct {
	script   Script
	bomb     *bomb    // nil for none
	inputs   []string // by move: the id of the input that it sends
	server   *modeltest.Server
	redactor *redact.Redactor
	disk     *disk
	current  atomic.Pointer[process]
	failing  atomic.Bool  // the disk was filled or ruined
	skew     atomic.Int64 // by how much the events' clock is wrong, in nanoseconds
	wire     atomic.Value // a Wire: the wire format of the next process
	accounts atomic.Int64 // how often the provider's account changed
	stuck    bool         // main's: patience was lost, and that did not help

	// life ends when the script is over: deaf calls end with it.
	life context.Context // it is the world's own
	end  context.CancelFunc

	acts    sync.WaitGroup // moves that are being made
	pending atomic.Int64   // timed moves that are still to be made
	closing chan struct{}  // holds a token when the session must be closed and opened again

	mu            sync.Mutex // guards the fields below
	problems      []string
	accepted      []string        // inputs
	runs          map[callKey]int // of calls
	seen          []event.Event   // events that the first subscriber received
	fired         []bool          // moves that wait for an event
	approvalCount int             // requests for approval
	reviewCount   int             // reviews
	// requested has the requests that the models received, by the disk that has the log.
	requested map[*disk][]contract.Request
	machines  map[*disk]*machine // with an executor
}

func newWorld(s Script, logs *Logs) *world {
	w := &world{
		script: s, disk: newDisk(logs), redactor: redact.New(Secret), closing: make(chan struct{}, 1),
		runs: map[callKey]int{}, requested: map[*disk][]contract.Request{}, fired: make([]bool, len(s.Moves)),
	}
	w.wire.Store(s.Wire)
	w.life, w.end = context.WithCancel(context.Background())
	n := 0
	for _, m := range s.Moves {
		input := ""
		if m.Do == Send {
			n++
			input = inputID(n)
		}
		w.inputs = append(w.inputs, input)
	}
	w.server = modeltest.NewMemoryServer(nil, s.Scenario())
	return w
}

// now is the clock that dates events. It can jump; no other code reads it.
func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.skew.Load())) }

// jumps reports whether that clock jumps.
func (w *world) jumps() bool {
	return slices.ContainsFunc(w.script.Moves, func(m Move) bool { return m.Do == Clock })
}

// broke notes a violation.
func (w *world) broke(clause, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, clause+": "+fmt.Sprintf(format, args...))
}

func closed(err error) bool {
	return errors.Is(err, session.ErrClosed) || errors.Is(err, journal.ErrClosed)
}

func (w *world) interruptBound() time.Duration {
	bound := endMargin
	if shake.On {
		bound += shakeMargin
	}
	if w.script.Limits.Grace > 0 {
		return w.script.Limits.Grace + bound
	}
	return defaultGrace + bound
}

// callKey identifies a call of a session: after a crash, a session with the same id has other
// calls.
type callKey struct {
	disk *disk
	item string
}

// ran: C5, a call runs once, and its start is on the disk before that.
func (w *world) ran(p *process, item string) {
	if !p.dead() && !p.mount.has(p.mount.started, item) {
		w.broke("C5", "call %s runs, and its start is not on the disk", item)
	}
	w.mu.Lock()
	w.runs[callKey{p.mount.disk, item}]++
	n := w.runs[callKey{p.mount.disk, item}]
	w.mu.Unlock()
	if n > 1 {
		w.broke("C5", "call %s runs for the %dth time", item, n)
	}
}
