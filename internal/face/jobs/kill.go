package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/printable"
	"github.com/settle-agent/settle/internal/proc"
)

const (
	// recordTimeout is how long the session's host may take to record the end.
	recordTimeout = 2 * time.Second
	recordDelay   = 10 * time.Millisecond // between two looks
)

// Kill ends a job's processes, from outside of its session: TERM, grace, KILL.
// It says what it ended, and returns when the session's host has recorded it.
func Kill(ctx context.Context, to io.Writer, dataDir, name string) error {
	j, err := find(dataDir, name)
	if err != nil {
		return err
	}
	if j.state == Over {
		return j.errOver()
	}
	ended, left, err := j.recorded().End(ctx, proc.DefaultGrace)
	switch {
	case errors.Is(err, proc.ErrUnseen):
		return j.errUnseen()
	case len(left) > 0:
		return fmt.Errorf("cannot end all processes of job %s: %s; the others ended", j.name(), names(left))
	case err != nil:
		return err
	}
	if _, err := fmt.Fprintf(to, "ended job %s: %s\n", j.name(), names(ended)); err != nil {
		return err
	}
	if j.state == Running {
		j.awaitRecord(ctx, dataDir)
	}
	return nil
}

// errUnseen says what to do about processes that cannot be told from others.
func (j job) errUnseen() error {
	next := "end the session"
	if j.host != 0 {
		next = fmt.Sprintf("end the session, whose host is process %d", j.host)
	}
	return fmt.Errorf("cannot end job %s from here: process %d may no longer be the job's; nothing was signalled; %s, or have the model end the job", j.name(), j.PID, next)
}

// awaitRecord waits until the end is in the session's log. A host that does not
// write it has trouble of its own, which is not told here: the job is ended.
func (j job) awaitRecord(ctx context.Context, dataDir string) {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	tick := time.NewTicker(recordDelay)
	defer tick.Stop()
	for {
		state, err := journal.Load(dataDir, j.session)
		if err != nil || !slices.ContainsFunc(state.Jobs, func(other *event.Job) bool { return other.Job == j.Job.Job && other.Ended == nil }) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// mostNames is how many processes are listed.
const mostNames = 10

// names lists processes for people.
func names(list []event.Process) string {
	var parts []string
	for _, p := range list[:min(len(list), mostNames)] {
		text := fmt.Sprintf("process %d (%s)", p.PID, printable.Text(p.Command))
		if p.Why != "" {
			text += ": " + p.Why
		}
		parts = append(parts, text)
	}
	text := strings.Join(parts, ", ")
	if more := len(list) - mostNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
