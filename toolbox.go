package settle

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/tool"
)

// SessionInfo describes the session to a [SessionConfig.Toolbox].
type SessionInfo struct {
	ID      string
	WorkDir string
	// OutputDir is a directory for the complete outputs of commands, which is kept as long as
	// the session; "" for a session in memory.
	OutputDir string
	// Marker is a text, unique on the machine, for the environment of each command. By it,
	// settle finds the processes of a killed program.
	Marker string
	// Lock is the file with the session's lock, for the supervisors; nil for a log in memory.
	Lock *os.File
	// Epoch is the fencing epoch, which is greater at each opening of the session.
	Epoch uint64
	// Jobs records jobs in the session's log.
	Jobs Jobs
	// Masked reports whether a text contains the mask of a secret. Such a text must not be
	// written to a file.
	Masked func(text string) bool
	// Mask returns a masker for one text that arrives in pieces, such as the output of a
	// command that is kept in a file (C15).
	Mask func() Masker
	// Learn adds secrets to the session, such as a token that was received while the session
	// was open (C15).
	Learn func(secrets ...string)
}

// Jobs records in a session's log the processes that outlive their calls. It is safe for
// concurrent use.
type Jobs interface {
	// JobStarted records that a call left a process running, and returns the job's id.
	JobStarted(context.Context, event.JobStarted) (id string, err error)
	// JobEnded records how a job ended. A second ending has no effect.
	JobEnded(context.Context, event.JobEnded) error
}

// Reattached is a command that an earlier host of the session started for a call and that
// continued without the host. The log has the call as aborted.
type Reattached struct {
	Call string // id of the call's item
	// Text describes the outcome to the model, with the end of the output. Job is set if the
	// command still runs.
	Text, Job string
}

// Masker masks secrets in a text that arrives in pieces. It may keep back the beginning of a
// secret until more text arrives or Flush is called.
type Masker interface {
	Write(text string) (masked string)
	Flush() (masked string)
}

// Toolbox has the tools of one session.
type Toolbox struct {
	Tools []tool.Tool
	// Close, if set, ends jobs. It is called when no turn runs any more, before the session is
	// closed.
	Close func(context.Context) error
	// Kill, if set, ends a job and returns the processes that could not be ended.
	Kill func(ctx context.Context, job string) ([]event.Process, error)
	// Interrupted, if set, is called after a turn was interrupted. It ends the processes that
	// must not outlive an interrupt; without it, jobs continue.
	Interrupted func(context.Context)
	// Reattach, if set, takes over the commands of an earlier host that still run on another
	// machine, and returns their outcomes. It is called at most once, when the session is
	// open.
	Reattach func(context.Context) []Reattached
	// Reminder, if set, returns a note for the model before its next request, such as that the
	// permission mode has changed; empty for none.
	Reminder func(event.State) string
	// Sweep, if set, ends the processes that a dead host left behind, and returns their pids.
	// Jobs with the marks in released were released on purpose and must continue.
	Sweep func(released []string) []int
}

func (b Toolbox) close(ctx context.Context) error {
	if b.Close == nil {
		return nil
	}
	return b.Close(ctx)
}

// NoJobError reports that no such job runs in the session.
type NoJobError struct{ Job string }

func (e *NoJobError) Error() string {
	return fmt.Sprintf("there is no job %q that runs in this session", e.Job)
}

// ErrNotEnded reports that some processes of a job could not be ended.
var ErrNotEnded = errors.New("cannot end all of the job's processes")

// KillJob ends a job of the session and returns when the log has the job's end. If some
// processes could not be ended, the job's ending names them, and the error is [ErrNotEnded].
// If no such job runs, the error is a [*NoJobError].
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
