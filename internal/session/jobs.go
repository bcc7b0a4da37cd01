package session

import (
	"context"
	"fmt"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/turn"
)

// Jobs records jobs in a session's log. A second ending of a job has no effect.
type Jobs struct {
	Log *journal.Log
	// Redact masks secrets in command lines; nil masks nothing.
	Redact *redact.Redactor
}

// JobStarted records the start of a job and returns the job's id.
func (j Jobs) JobStarted(_ context.Context, job event.JobStarted) (id string, err error) {
	job.Command = j.Redact.String(job.Command)
	err = update(j.Log, func(s event.State) []event.Event {
		id = s.NextJob()
		job.Job = id
		return []event.Event{{Data: job}}
	})
	if err != nil {
		return "", fmt.Errorf("cannot record the job: %w", err)
	}
	return id, nil
}

// JobEnded records how a job ended.
func (j Jobs) JobEnded(_ context.Context, end event.JobEnded) error {
	end.Survivors = turn.MaskProcesses(j.Redact, end.Survivors)
	err := j.Log.Update(func(s event.State) []event.Event {
		for _, running := range s.Jobs {
			if running.Job == end.Job && running.Ended == nil {
				return []event.Event{{Data: end}}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot record the end of job %s: %w", end.Job, err)
	}
	return nil
}
