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

// Config configures a session.
type Config struct {
	// Log is the session's log. This process holds its lock.
	Log *journal.Log
	// Opened describes the host; Open fills in its PID.
	Opened event.SessionOpened
	// Turn configures the turns. The session sets Log, Calls, Conversation and Hurry. Meter is
	// the parent meter of a child agent's session; nil for any other session.
	Turn turn.Config
	// Approvals is the turns' Approver if clients may answer; else nil.
	Approvals *Approvals
	// Damage describes damage that was found when the log was opened.
	Damage Damage
	// Sweep, if set, ends the processes that a dead host left behind, and returns their pids.
	// It spares the jobs with the marks in released (C23).
	Sweep func(released []string) []int
	// Orphan, if set, completes the ending of a child agent whose host died with the facts of the child's own log.
	Orphan func(event.Child, event.ChildEnded) event.ChildEnded
	// BeforeClose, if set, ends jobs when no turn runs any more.
	BeforeClose func(context.Context) error
	// LeaveWorktree, if set, removes the session's own git worktree or leaves it to the user,
	// when nothing works in it any more.
	LeaveWorktree func(context.Context) event.WorktreeLeft
	// KeepWorktree, if set, leaves the worktree to the user with the reason, because processes
	// may work in it still.
	KeepWorktree func(ctx context.Context, why string) event.WorktreeLeft
	// ChildAgents are the session's child agents; nil if it has none.
	ChildAgents ChildAgents
	// Interrupted, if set, ends work that must not outlive an interrupt. It is called after an
	// interrupted turn, before the interrupt is answered, and has interruptedTimeout.
	Interrupted func(context.Context)
	// Ended, if set, is called by the actor after each turn.
	Ended  func(event.State)
	Logger *slog.Logger
}

// Damage describes the damaged end of a log.
type Damage struct {
	CutBytes int64
	Kept     string // file with the damaged end
	Message  string
}

// Session is an open session. Several goroutines may call its methods.
type Session struct {
	config Config
	calls  turn.Calls
	// conversation belongs to the running turn.
	conversation history.Conversation
	meter        *turn.Meter // of the session, including earlier hosts
	commands     chan func()
	done         chan struct{} // closed when the actor has ended
	closedIdle   atomic.Bool   // closed by CloseIdle; set by the actor

	// The fields below belong to the actor.
	closeState
	running         *running
	earlyInterrupts map[string][]*waiter // for inputs that are not accepted yet, by input
	lateInterrupts  []*waiter            // arrived after the turn's terminal event, before the turn returned
	// expansions are the inputs that are being expanded.
	expansions []*expansion
	// compactions are the clients that wait for a compaction.
	compactions     []*compaction
	unwrittenInputs []string // inputs in the log that the failed disk may not have
	// lastInput is the input after whose turn no other turn starts; "" if there is none.
	lastInput string
}

// closeState is the state of a session that is being closed.
type closeState struct {
	closing  []chan error // the callers of Close
	closeBy  time.Time    // earliest deadline of a caller of Close; zero for none
	endHooks *endHooks    // running hooks of the session's end; nil if none run
	closed   bool
}

// ErrClosed is returned by calls after Close.
var ErrClosed = errors.New("the session is closed")

// NewID returns an id for a session. Ids sort by the time at which they were made.
func NewID() string {
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.NewString() // version 7 needs random bytes that the system did not have
	}
	return id.String()
}

// Open opens a session: it records the endings that a dead host left open, and starts the
// actor. The caller closes the session.
func Open(c Config) (*Session, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Session{
		config: c, commands: make(chan func()), done: make(chan struct{}), earlyInterrupts: map[string][]*waiter{},
	}
	if err := s.recover(); err != nil {
		return nil, err
	}
	c.Opened.PID, c.Opened.Process = os.Getpid(), proc.Self()
	if err := s.log().Update(func(event.State) []event.Event {
		return []event.Event{{By: "host", Data: c.Opened}}
	}); err != nil {
		return nil, fmt.Errorf("cannot open the session: %w", err)
	}
	s.log().View(
		func(state event.State) { s.meter = turn.NewMeter(c.Turn.Limits.Session, state.Spent(), c.Turn.Meter) },
	)
	go s.loop() // ends with Close, which waits for it
	return s, nil
}

func (s *Session) log() *journal.Log { return s.config.Log }

// recover records the endings that the last host could not record (C2), and the damage that
// was found. It resumes nothing: waiting inputs are held (C18, C19).
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

// orphans returns the ends of the children that the last host could not record.
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
	for _, c := range list { // without the log's lock: it reads other logs
		end := s.config.Orphan(c, event.ChildEnded{Child: c.Child, Outcome: event.Aborted, Cause: cause})
		out[c.Child] = &end
	}
	return out
}

// releasedMarks returns the marks of the jobs that the session has released.
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

// Log returns the session's log, for reading.
func (s *Session) Log() *journal.Log { return s.config.Log }

// Done is closed when the session is closed.
func (s *Session) Done() <-chan struct{} { return s.done }

// do sends f to the actor, and returns when the actor has received it.
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
	reported := false // that the log has failed
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
		case <-failed: // C4: reported even if no turn runs
			s.config.Logger.Error(
				"nothing can be done in a session until its log can be written", "error", s.log().Err(),
			)
			reported = true
		}
	}
}

// panicked logs a panic of a callback. The session continues.
func (s *Session) panicked(err error) {
	scope.LogPanic(s.config.Logger, s.config.Turn.Redact.Diagnostic, "a session's callback panicked", err)
}
