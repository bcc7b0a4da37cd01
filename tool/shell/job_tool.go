package shell

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/tool"
)

// waitTimeout is the default time of the action wait.
const waitTimeout = 30 * time.Second

// jobTool lets the model manage the session's jobs.
type jobTool struct{ jobs *Jobs }

// JobArguments are the arguments of the job tool.
type JobArguments struct {
	Action    string `json:"action"`
	Job       string `json:"job,omitempty"`
	Input     string `json:"input,omitempty"`
	EOF       bool   `json:"eof,omitempty"`
	Pattern   string `json:"pattern,omitempty"`
	Port      int    `json:"port,omitempty"`
	TimeoutMS int64  `json:"timeout_ms,omitempty"`
}

var jobSchema = sync.OnceValue(func() tool.Option {
	return tool.WithSchema(`{
  "type": "object",
  "properties": {
    "action": {"type": "string", "enum": ["list", "read", "write", "wait", "kill", "release"]},
    "job": {"type": "string", "description": "Not for list."},
    "input": {"type": "string", "description": "write: text for a job started with background or tty."},
    "eof": {"type": "boolean", "description": "write: then close the input."},
    "pattern": {"type": "string", "description": "wait: for a new line that matches (RE2)."},
    "port": {"type": "integer", "minimum": 1, "maximum": 65535, "description": "wait: for this TCP port to accept."},
    "timeout_ms": {"type": "integer", "minimum": 1, "description": "wait: default 30000. read, write: first wait this long for its end."}
  },
  "required": ["action"],
  "additionalProperties": false
}`)
})

func (t *jobTool) tool() tool.Tool {
	return tool.Must(
		tool.New(
			"job",
			"Manage jobs, the processes that shell calls left running: list them, read new output, write input, "+
				"wait for a line, a port or the end, kill one, or release one to outlive the session; the others end with it.",
			t.run,
			jobSchema(),
			tool.WithTitle(JobArguments.Title),
		),
	)
}

// Title describes the call in one line.
func (a JobArguments) Title() string { return strings.TrimSpace("job " + a.Action + " " + a.Job) }

func (t *jobTool) run(ctx context.Context, a JobArguments) (tool.Result, error) {
	if a.Action == "list" {
		return tool.Result{Output: listing(t.jobs.List(), time.Now())}, nil
	}
	b, err := t.jobs.find(a.Job)
	if err != nil {
		return tool.Result{}, err
	}
	switch a.Action {
	case "read":
		t.linger(ctx, b, a)
		return t.read(b), nil
	case "write":
		return t.write(ctx, b, a)
	case "wait":
		return t.wait(ctx, b, a)
	case "kill":
		return t.kill(ctx, b)
	case "release":
		if err := t.jobs.mayRelease(ctx, b.info.Command); err != nil {
			return tool.Result{}, err
		}
		info, err := t.jobs.Release(ctx, a.Job)
		if err != nil {
			return tool.Result{}, err
		}
		return tool.Result{Output: released(info)}, nil
	}
	return tool.Result{}, fmt.Errorf("cannot do %q: the actions are list, read, write, wait, kill and release",
		a.Action)
}

// linger waits for the job's end, at most as long as the call requests.
func (t *jobTool) linger(ctx context.Context, b *job, a JobArguments) {
	if a.TimeoutMS <= 0 {
		return
	}
	timer := time.NewTimer(min(time.Duration(a.TimeoutMS)*time.Millisecond, t.jobs.config.MaxTimeout))
	defer timer.Stop()
	select {
	case <-b.ended:
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (t *jobTool) read(b *job) tool.Result {
	output := t.jobs.unread(b.info.ID)
	if output == "" {
		output = "[no new output]"
	}
	return tool.Result{Output: paragraph(output, t.state(b))}
}

// state describes a job in one line.
func (t *jobTool) state(b *job) string {
	t.jobs.mu.Lock()
	defer t.jobs.mu.Unlock()
	return "[" + stateLine(b.info, time.Now()) + "]"
}

// writeTimeout bounds a write to a job that does not read.
const writeTimeout = 5 * time.Second

func (t *jobTool) write(ctx context.Context, b *job, a JobArguments) (tool.Result, error) {
	bounded, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := b.process.Write(bounded, []byte(a.Input)); err != nil {
		return tool.Result{}, fmt.Errorf("cannot write to job %s: %w", b.info.ID, err)
	}
	if a.EOF {
		if err := b.process.CloseInput(); err != nil {
			return tool.Result{}, fmt.Errorf("cannot end the input of job %s: %w", b.info.ID, err)
		}
	}
	wrote := fmt.Sprintf("[wrote %d bytes to job %s]", len(a.Input), b.info.ID)
	if a.TimeoutMS > 0 {
		t.linger(ctx, b, a)
		wrote = paragraph(wrote, t.read(b).Output)
	}
	return tool.Result{Output: wrote}, nil
}

func (t *jobTool) wait(ctx context.Context, b *job, a JobArguments) (tool.Result, error) {
	limit := waitTimeout
	if a.TimeoutMS > 0 {
		limit = min(time.Duration(a.TimeoutMS)*time.Millisecond, t.jobs.config.MaxTimeout)
	}
	bounded, cancel := context.WithTimeoutCause(ctx, limit, errNotYet)
	defer cancel()
	output, goal, err := t.await(bounded, b, a)
	result := tool.Result{Output: output}
	switch {
	case err == nil:
		result.Output = paragraph(output, "["+goal+"]")
	case ctx.Err() != nil:
		result.Aborted = true
	case errors.Is(err, errJobEnded) || bounded.Err() != nil:
		if bounded.Err() != nil {
			err = context.Cause(bounded)
		}
		result.Failed = true
		result.Output = paragraph(paragraph(output, fmt.Sprintf("[%s: %v]", goal, err)), t.state(b))
	default:
		return tool.Result{}, err
	}
	return result, nil
}

// await returns the job's new output and a description of the result of the wait.
func (t *jobTool) await(ctx context.Context, b *job, a JobArguments) (output, goal string, err error) {
	switch {
	case a.Pattern != "":
		pattern, err := regexp.Compile(a.Pattern)
		if err != nil {
			return "", "", fmt.Errorf("cannot read the pattern: %w", err)
		}
		line, err := t.jobs.awaitLine(ctx, b, pattern)
		if err != nil {
			return t.jobs.unread(b.info.ID), "no line matches", err
		}
		return t.jobs.unread(b.info.ID), fmt.Sprintf("a line matches: %q", line), nil
	case a.Port != 0:
		if err := t.jobs.awaitPort(ctx, b, a.Port); err != nil {
			return t.jobs.unread(b.info.ID), fmt.Sprintf("port %d accepts no connections", a.Port), err
		}
		return t.jobs.unread(b.info.ID), fmt.Sprintf("port %d accepts connections", a.Port), nil
	}
	select {
	case <-b.ended:
		return t.jobs.unread(b.info.ID), fmt.Sprintf("job %s ended", b.info.ID), nil
	case <-ctx.Done():
		return t.jobs.unread(b.info.ID), fmt.Sprintf("job %s has not ended", b.info.ID), ctx.Err()
	}
}

func (t *jobTool) kill(ctx context.Context, b *job) (tool.Result, error) {
	bounded, cancel := context.WithTimeout(ctx, t.jobs.config.Grace+stuckTimeout)
	defer cancel()
	survivors, err := t.jobs.Kill(bounded, b.info.ID)
	result := tool.Result{Output: t.jobs.unread(b.info.ID), Survivors: survivors}
	switch {
	case ctx.Err() != nil:
		result.Aborted = true
	case err != nil || len(survivors) > 0:
		result.Failed = true
		result.Output = paragraph(result.Output, fmt.Sprintf("[not ended: %s]", names(survivors)))
	default:
		result.Output = paragraph(result.Output, t.state(b))
	}
	return result, nil
}

// stuckTimeout bounds the wait for a job that does not end.
const stuckTimeout = 5 * time.Second

func listing(jobs []Job, now time.Time) string {
	if len(jobs) == 0 {
		return "[no jobs]"
	}
	var b strings.Builder
	for _, job := range jobs {
		b.WriteString(stateLine(job, now))
		b.WriteByte('\n')
	}
	return b.String()
}

func stateLine(job Job, now time.Time) string {
	state := "running for " + now.Sub(job.Started).Round(time.Second).String()
	if job.How != "" {
		state = string(job.How)
	}
	if job.How == event.JobExited && job.ExitCode != nil {
		state += fmt.Sprintf(" with code %d", *job.ExitCode)
	}
	return fmt.Sprintf("job %s %s, pid %d: %s (output: %s)", job.ID, state, job.PID, job.Command, job.Log)
}

func running(job Job) string {
	return fmt.Sprintf("[job %s runs in the background, pid %d; the tool job reads it, waits for it and kills it]",
		job.ID, job.PID)
}

func released(job Job) string {
	return fmt.Sprintf(
		"[job %s was released, pid %d: it runs on after this session and writes to %s; \"kill %d\" ends it]",
		job.ID,
		job.PID,
		job.Log,
		job.PID,
	)
}
