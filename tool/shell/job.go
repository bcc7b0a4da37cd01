package shell

import (
	"context"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/tool"
)

// startDelay is the wait of a background call for an early failure of the command, such as a server
// whose port is taken.
const startDelay = 500 * time.Millisecond

// Job is a process of the session that outlives its call.
type Job struct {
	ID      string
	PID     int
	Command string
	Log     string // file with its output
	Started time.Time
	// How is empty while it runs; the fields below are set with it.
	How       event.JobEnd
	ExitCode  *int
	Survivors []event.Process
}

// job is a Job with its state. Jobs.mu guards info, wanted, read, matched.
type job struct {
	info       Job
	process    *proc.Process
	capture    *capture
	run        *run // of the call that left it
	background bool
	wanted     event.JobEnd // requested end; empty for none
	read       int64        // bytes of the log that the model has received
	matched    int64        // bytes of the log that a wait has matched
	ended      chan struct{}
}

// background makes the command a job of the session, unless it exits within the delay.
func (r *run) background(ctx context.Context, delay time.Duration) (tool.Result, error) {
	early, cancel := context.WithTimeoutCause(ctx, delay, errTimeout)
	defer cancel()
	exit, err := r.process.Wait(early)
	if err == nil {
		return r.exited(ctx, exit)
	}
	if ctx.Err() != nil {
		return r.aborted(ctx, r.end(ctx)), nil
	}
	r.args.Background = true // also for later results
	self := event.Process{PID: r.process.PID(), Command: r.args.Command}
	job, err := r.jobs.adopt(ctx, r, []event.Process{self})
	if err != nil {
		r.end(ctx)
		return tool.Result{}, err
	}
	return r.handOver(ctx, job)
}

func (r *run) handOver(ctx context.Context, job Job) (tool.Result, error) {
	result := tool.Result{Jobs: []string{job.ID}}
	if r.args.Release {
		if _, err := r.jobs.Release(ctx, job.ID); err != nil {
			r.end(ctx)
			return tool.Result{}, err
		}
		taken := r.result()
		result.Output = paragraph(taken.Output, released(job))
		return result, nil
	}
	result.Output = r.jobs.unread(job.ID)
	result.Output = paragraph(result.Output, running(job))
	return result, nil
}
