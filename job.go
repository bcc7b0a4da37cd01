package settle

import (
	"context"
	"errors"
	"fmt"

	"github.com/settle-agent/settle/event"
)

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
	if !running || s.box.Kill == nil {
		return &NoJobError{Job: job}
	}
	left, err := s.box.Kill(ctx, job)
	if err == nil && len(left) > 0 {
		err = ErrNotEnded
	}
	return err
}
