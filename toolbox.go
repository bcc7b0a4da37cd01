package settle

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/tool"
)

// SessionInfo is what a [SessionConfig.Toolbox] is told of the session.
type SessionInfo struct {
	ID      string
	WorkDir string
	// OutputDir is a directory for the whole outputs of commands, which is kept
	// as long as the session; "" for a session in memory.
	OutputDir string
	// Marker is a text, unique on the machine, for the environment of each
	// command. By it, settle finds what a killed program left behind.
	Marker string
	// Lock is the file that holds the session's lock, for the processes that
	// clean up after the host; nil for a log in memory.
	Lock *os.File
	// Epoch is greater than that of whoever had the session open before.
	Epoch uint64
	// Jobs records jobs in the session's log.
	Jobs Jobs
	// Masked reports whether a text contains the mask that stands for a
	// secret, and must not be written to a file.
	Masked func(text string) bool
	// Mask returns what masks secrets in one text that comes in pieces, such as
	// the output of a command that is kept in a file (C15).
	Mask func() Masker
	// Learn makes more texts secrets of the session, such as a token that came while
	// it was open (C15).
	Learn func(secrets ...string)
}

// Jobs records in a session's log what outlives the call that started it. It is
// safe for concurrent use.
type Jobs interface {
	// JobStarted records that a call left a process behind, and returns the
	// job's id.
	JobStarted(context.Context, event.JobStarted) (id string, err error)
	// JobEnded records how a job ended. A second ending becomes nothing.
	JobEnded(context.Context, event.JobEnded) error
}

// Reattached is a command that an earlier host of the session had started for a call,
// and that went on without it. The log has the call as aborted.
type Reattached struct {
	Call string // the id of its item
	// Text says to the model what became of it, with the end of its output. Job is set
	// where it still runs.
	Text, Job string
}

// Masker masks secrets in a text that comes in pieces. It may keep back the
// beginning of a secret, until more comes or Flush.
type Masker interface {
	Write(text string) (masked string)
	Flush() (masked string)
}

// Toolbox is the tools of one session.
type Toolbox struct {
	Tools []tool.Tool
	// Close, if set, ends what the tools left running; it is called when no
	// turn runs any more, before the session is closed.
	Close func(context.Context) error
	// Kill, if set, ends a job and returns what of it could not be ended.
	Kill func(ctx context.Context, job string) ([]event.Process, error)
	// Interrupted, if set, is called when a turn was interrupted, to end what
	// shall not outlive that; without it, jobs do.
	Interrupted func(context.Context)
	// Reattach, if set, takes over what an earlier host of the session had started and
	// another machine still has, and says what became of it. It is called at most
	// once, when the session is open.
	Reattach func(context.Context) []Reattached
	// Sweep, if set, ends what an earlier host that died left behind, and
	// returns the pids. Jobs with the marks in released were let go on purpose
	// and must go on.
	Sweep func(released []string) []int
}

func (b Toolbox) close(ctx context.Context) error {
	if b.Close == nil {
		return nil
	}
	return b.Close(ctx)
}

// NoJobError says that the session has no such job that runs.
type NoJobError struct{ Job string }

func (e *NoJobError) Error() string {
	return fmt.Sprintf("there is no job %q that runs in this session", e.Job)
}

// ErrNotEnded says that some of a job's processes could not be ended.
var ErrNotEnded = errors.New("cannot end all of the job's processes")

// KillJob ends a job of the session and returns when that is recorded. What
// could not be ended is named in the job's ending, and the error is
// [ErrNotEnded]; where no such job runs, it is a [*NoJobError].
func (s *Session) KillJob(ctx context.Context, job string) error {
	running := false
	s.View(func(state event.State) {
		for _, j := range state.Jobs {
			running = running || j.Job == job && j.Ended == nil
		}
	})
	if !running || s.toolbox.Kill == nil {
		return &NoJobError{Job: job}
	}
	left, err := s.toolbox.Kill(ctx, job)
	if err == nil && len(left) > 0 {
		err = ErrNotEnded
	}
	return err
}
