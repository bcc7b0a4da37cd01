package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/turn"
)

// Config is what a session needs.
type Config struct {
	// Log is the session's, held by this process.
	Log *journal.Log
	// Opened describes the host; its PID is filled in.
	Opened event.SessionOpened
	// Turn is what turns are run with. Log, Calls, Conversation and Hurry are filled
	// in. Meter is what a child agent's session is below; nil for any other.
	Turn turn.Config
	// Approvals is the turns' Approver where somebody may answer; else nil.
	Approvals *Approvals
	// Damage says what opening the log found broken, if anything.
	Damage Damage
	// Sweep, if set, ends what processes a host that died may have left, and
	// returns their pids. It spares the jobs with the marks in released (C23).
	Sweep func(released []string) []int
	// Orphan, if set, adds what is known of a child agent whose host died to how it
	// ended: what its own log says.
	Orphan func(event.Child, event.ChildEnded) event.ChildEnded
	// BeforeClose, if set, ends what the tools left running, when no turn runs
	// any more.
	BeforeClose func(context.Context) error
	// ChildAgents are the session's child agents; nil if it has none.
	ChildAgents ChildAgents
	// Interrupted, if set, is called after a turn that somebody interrupted,
	// before that is answered: it ends what shall not outlive an interrupt. It
	// has interruptedTimeout for that.
	Interrupted func(context.Context)
	// Ended, if set, is called after each turn, by the actor.
	Ended  func(event.State)
	Logger *slog.Logger
}

// Damage is what was wrong with the log's tail.
type Damage struct {
	CutBytes int64
	Kept     string // file that keeps what was cut
	Message  string
}

// Session is an open session. Its methods may be called by several goroutines.
type Session struct {
	config Config
	calls  turn.Calls
	// conversation belongs to the turn that runs.
	conversation history.Conversation
	meter        *turn.Meter // of what it takes, since its beginning
	commands     chan func()
	done         chan struct{} // closed when the actor has ended
	closedIdle   atomic.Bool   // it was closed for idleness; set by the actor

	// The rest belongs to the actor.
	running         *running
	earlyInterrupts map[string][]*waiter // interrupts that name an input not yet accepted
	lateInterrupts  []*waiter            // interrupts that came while a turn that was over had not returned
	// expanding are the inputs of which it is being found out what they stand for.
	expansions []*expansion
	closing    []chan error
	// compactions are those who wait for a shorter history.
	compactions     []*compaction
	closeBy         time.Time // when somebody gives up on the session's end; zero for never
	endHooks        *endHooks // hooks that are told of the session's end; nil if none are
	unwrittenInputs []string  // inputs that the log took and could not write
	closed          bool
}

// ErrClosed is returned for what comes after Close.
var ErrClosed = errors.New("the session is closed")

// NewID returns an id for a session. Ids sort by the time at which they were made.
func NewID() string {
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.NewString() // version 7 needs random bytes that the system did not have
	}
	return id.String()
}

// Open takes the session over: it ends what a host that died left open, says
// so, and starts the actor. The caller closes it.
func Open(c Config) (*Session, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Session{config: c, commands: make(chan func()), done: make(chan struct{}), earlyInterrupts: map[string][]*waiter{}}
	if err := s.recover(); err != nil {
		return nil, err
	}
	c.Opened.PID, c.Opened.Process = os.Getpid(), proc.Self()
	if err := s.log().Update(func(event.State) []event.Event {
		return []event.Event{{By: "host", Data: c.Opened}}
	}); err != nil {
		return nil, fmt.Errorf("cannot open the session: %w", err)
	}
	s.log().View(func(state event.State) { s.meter = turn.NewMeter(c.Turn.Limits.Session, state.Spent(), c.Turn.Meter) })
	go s.loop() // ends with Close, which waits for it
	return s, nil
}

func (s *Session) log() *journal.Log { return s.config.Log }

// recover writes the endings that the last host could not (C2), and what was
// found. Nothing is resumed: input that waited is held (C18, C19).
func (s *Session) recover() error {
	var found event.SessionRecovered
	var died bool
	var released []string
	s.log().View(func(state event.State) {
		died, found.PID, released = state.Open, state.Host.PID, releasedMarks(state)
	})
	damage := s.config.Damage
	if !died && damage.CutBytes == 0 {
		return nil
	}
	found.CutBytes, found.Kept, found.Message = damage.CutBytes, damage.Kept, damage.Message
	if !died {
		found.PID = 0
	} else if s.config.Sweep != nil {
		found.Swept = s.config.Sweep(released)
	}
	cause := event.Abort(event.Crashed, "host")
	orphans := s.orphans(cause)
	err := s.log().Update(func(state event.State) []event.Event {
		out := event.Closings(state, cause)
		for n, e := range out {
			if end, ok := e.Data.(event.ChildEnded); ok && orphans[end.Child] != nil {
				out[n].Data = *orphans[end.Child]
			}
		}
		found.Ended = len(out)
		return append(out, event.Event{By: "host", Data: found})
	})
	if err != nil {
		return fmt.Errorf("cannot recover the session: %w", err)
	}
	return nil
}

// orphans are the ends of the children that the last host could not write.
func (s *Session) orphans(cause *event.Cause) map[string]*event.ChildEnded {
	if s.config.Orphan == nil {
		return nil
	}
	var list []event.Child
	s.log().View(func(state event.State) {
		for _, c := range state.Children {
			if c.Ended == nil {
				list = append(list, *c)
			}
		}
	})
	out := map[string]*event.ChildEnded{}
	for _, c := range list { // outside of the log's lock: it reads others
		end := s.config.Orphan(c, event.ChildEnded{Child: c.Child, Outcome: event.Aborted, Cause: cause})
		out[c.Child] = &end
	}
	return out
}

// releasedMarks are those of the jobs that are not the session's any more.
func releasedMarks(state event.State) (marks []string) {
	for _, j := range state.Jobs {
		if j.Ended != nil && j.Ended.How == event.JobReleased && j.Mark != "" {
			marks = append(marks, j.Mark)
		}
	}
	return marks
}

// ID returns the session's id.
func (s *Session) ID() (id string) {
	s.log().View(func(state event.State) { id = state.Session })
	return id
}

// Log returns the session's log, to read.
func (s *Session) Log() *journal.Log { return s.config.Log }

// Done is closed when the session is closed.
func (s *Session) Done() <-chan struct{} { return s.done }

// do has the actor run f, and waits until it took it.
func (s *Session) do(ctx context.Context, f func()) error {
	select {
	case s.commands <- f:
		return nil
	case <-s.done:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// loop is the actor. It ends when the session is closed and no turn runs.
func (s *Session) loop() {
	defer close(s.done)
	reported := false // that the log failed
	for !s.closed {
		var ended, failed <-chan struct{}
		if reported = reported && s.log().Err() != nil; !reported {
			failed = s.log().Failed()
		}
		if s.running != nil {
			ended = s.running.ended
		}
		select {
		case f := <-s.commands:
			f()
		case <-ended:
			s.turnEnded()
		case <-s.endHooks.done():
			s.endHooks.cancel()
			s.finish()
		case <-failed: // C4: somebody has to be told, whether or not a turn runs
			s.config.Logger.Error("nothing can be done in a session until its log can be written", "error", s.log().Err())
			reported = true
		}
	}
}

// panicked reports a defect of what the session calls. The session goes on.
func (s *Session) panicked(err error) {
	scope.LogPanic(s.config.Logger, s.config.Turn.Redact.Diagnostic, "a session's callback panicked", err)
}
