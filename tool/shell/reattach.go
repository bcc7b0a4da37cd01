package shell

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/settle-agent/settle/internal/executor"
)

// kept is a command that a new host took over; only settle itself takes commands over.
type kept = executor.TakenCommand

// reattachTimeout bounds the wait for the executor's report about an ended command.
const reattachTimeout = 5 * time.Second

// Reattach takes over a command of an earlier host of the session that its machine still
// has: a running command becomes a job. It returns the model's text, and the job; "" for an
// ended command.
func Reattach(ctx context.Context, j *Jobs, k *kept) (text, job string) {
	r := &run{
		jobs: j, args: Arguments{Command: k.Command, Background: true}, process: k.Process, began: time.Now(),
		// Its file has its own name: the call can already have one, and an executor could
		// report any name.
		capture: newCapture(j.config, "reattached-"+rand.Text(), false, newProgress(func(string) {})),
	}
	what := fmt.Sprintf("The command %q, whose call was interrupted in the log,", k.Command)
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return "", ""
	}
	j.tending.Add(1)
	j.mu.Unlock()
	k.Take(r.capture)
	j.tend(r.process, r.capture)
	left := r.process.Remains()
	hasEnded := k.Ended || k.Expired
	select {
	case <-r.process.Done(): // ended after it was taken over
		hasEnded = true
	default:
	}
	if hasEnded {
		return tookEnd(ctx, r, what, k.Expired), ""
	}
	self, err := j.adopt(ctx, r, left)
	if err != nil {
		r.end(ctx)
		return paragraph(fmt.Sprintf("%s was still running and was ended: %v.", what, err), r.result().Output), ""
	}
	text = fmt.Sprintf(
		"%s is still running: it is job %s now. Do not start it again. The end of its output until now:", what, self.ID,
	)
	return paragraph(paragraph(text, j.unread(self.ID)), running(self)), self.ID
}

// tookEnd describes the end of a command that ended without a host.
func tookEnd(ctx context.Context, r *run, what string, expired bool) string {
	ctx, cancel := context.WithTimeout(ctx, reattachTimeout)
	defer cancel()
	select {
	case <-r.process.Done():
	case <-ctx.Done():
		return what + " has ended; its exit code is unknown."
	}
	r.capture.drain()
	if why := r.process.Lost(); why != "" {
		return fmt.Sprintf("%s is lost; its outcome is unknown: %s.", what, why)
	}
	how := "ran to its end."
	if expired {
		how = "was ended because no host reconnected in time."
	}
	return paragraph(fmt.Sprintf("%s %s Do not run it again for its result. The end of its output:", what, how),
		r.withExit(r.result().Output, r.process.Exit()))
}
