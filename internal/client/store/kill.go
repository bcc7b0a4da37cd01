package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/terminal"
)

const (
	// recordTimeout bounds the wait until the session's host has recorded the end.
	recordTimeout = 2 * time.Second
	recordDelay   = 10 * time.Millisecond // between two looks
)

// KillJob ends a job's processes from outside of its session: TERM, grace, KILL. It returns
// the ended processes once the session's host has recorded the end. It only reads the logs
// of sessions that other processes use.
func KillJob(ctx context.Context, dataDir, name string) (j Job, ended []event.Process, err error) {
	if j, err = FindJob(dataDir, name); err != nil {
		return j, nil, err
	}
	if j.State == JobOver {
		return j, nil, j.errOver()
	}
	ended, left, err := j.recorded().End(ctx, proc.DefaultGrace)
	switch {
	case errors.Is(err, proc.ErrNotFound):
		return j, nil, j.errUnseen()
	case len(left) > 0:
		return j, ended, fmt.Errorf(
			"cannot end all processes of job %s: %s; the others ended", j.Name(), ProcessNames(left),
		)
	case err == nil && j.State == JobRunning:
		j.awaitRecord(ctx, dataDir)
	}
	return j, ended, err
}

// errUnseen returns an error with advice about processes that cannot be distinguished from others.
func (j Job) errUnseen() error {
	next := "end the session"
	if j.Host != 0 {
		next = fmt.Sprintf("end the session, whose host is process %d", j.Host)
	}
	return fmt.Errorf(
		"cannot end job %s from here: process %d may no longer be the job's; nothing was signalled; %s, or have the model end the job",
		j.Name(),
		j.PID,
		next,
	)
}

// awaitRecord waits until the session's log records the end. A host that does not record it
// has an error of its own, which is not reported here: the job is ended.
func (j Job) awaitRecord(ctx context.Context, dataDir string) {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	tick := time.NewTicker(recordDelay)
	defer tick.Stop()
	for {
		state, err := journal.Load(dataDir, j.Session)
		if err != nil || !slices.ContainsFunc(
			state.Jobs, func(job *event.Job) bool { return job.Job == j.Job.Job && job.Ended == nil },
		) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// maxNames is the number of listed processes.
const maxNames = 10

// ProcessNames lists processes for people.
func ProcessNames(list []event.Process) string {
	var parts []string
	for _, p := range list[:min(len(list), maxNames)] {
		text := fmt.Sprintf("process %d (%s)", p.PID, terminal.Text(p.Command))
		if p.Why != "" {
			text += ": " + p.Why
		}
		parts = append(parts, text)
	}
	text := strings.Join(parts, ", ")
	if more := len(list) - maxNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
