package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/tool"
)

// shellTool returns the tool shell.
func (j *Jobs) shellTool() tool.Tool {
	return tool.Must(tool.New("shell", j.config.describe(), j.shell, tool.WithSchema(j.config.schema()),
		tool.WithTitle(Arguments.title)))
}

func (j *Jobs) shell(ctx context.Context, a Arguments) (result tool.Result, err error) {
	call, _ := tool.CallFrom(ctx)
	if err := a.check(); err != nil {
		return tool.Result{}, err
	}
	if a.Release {
		if err := j.mayRelease(ctx, a.Command); err != nil {
			return tool.Result{}, err
		}
	}
	r, err := j.launch(ctx, call, a)
	var lost *executor.LostError
	if errors.As(err, &lost) {
		return tool.Result{Unknown: true, Output: "[" + lost.Error() + "]"}, nil
	}
	if err != nil {
		return tool.Result{}, err
	}
	defer func() {
		if failed := r.progress.stop(); failed != nil { // the command has run anyway
			result.Failed = true
			result.Output += fmt.Sprintf("\n[the output was not shown as it came: %v]", failed)
		}
	}()
	switch {
	case a.Background:
		return r.background(ctx, startDelay)
	case a.YieldMS > 0:
		return r.background(ctx, min(time.Duration(a.YieldMS)*time.Millisecond, j.config.MaxTimeout))
	}
	return r.foreground(ctx)
}

// run is one started command of a call.
type run struct {
	jobs     *Jobs
	args     Arguments
	process  *proc.Process
	capture  *capture
	progress *progress
	timeout  time.Duration
	began    time.Time
	call     tool.Call
}

// launch starts the command. Close waits for it from then on.
func (j *Jobs) launch(ctx context.Context, call tool.Call, a Arguments) (*run, error) {
	p := newProgress(call.Progress)
	r := &run{
		jobs: j, args: a, progress: p, timeout: a.timeout(j.config), began: time.Now(),
		capture: newCapture(j.config, call.ID, a.TTY, p), call: call,
	}
	c := executor.Command{
		Script: a.Command, Call: call.ID, Dir: call.Dir, Workdir: a.Workdir, Places: call.Places, Grace: j.config.Grace,
		Sandbox: call.Sandbox, Secrets: call.Secrets, Output: r.capture, Alone: call.Alone,
	}
	switch {
	case a.TTY:
		c.Terminal, c.Env = &proc.Size{Rows: 40, Cols: 120}, []string{"TERM=xterm-256color"}
	case a.Background:
		c.Input = proc.PipeInput // the end of input ends many servers
	}
	var err error
	if r.process, err = j.start(ctx, c, r.capture); err != nil {
		return nil, err
	}
	return r, nil
}

// foreground waits for the command's exit, its timeout or the context.
func (r *run) foreground(ctx context.Context) (tool.Result, error) {
	limited, cancel := context.WithTimeoutCause(ctx, r.timeout, errTimeout)
	defer cancel()
	exit, err := r.process.Wait(limited)
	if err == nil {
		return r.exited(ctx, exit)
	}
	survivors := r.end(ctx)
	if ctx.Err() != nil {
		return r.aborted(ctx, survivors), nil
	}
	return r.timedOut(ctx, survivors), nil
}

var errTimeout = errors.New("the command's timeout")

// end ends all processes of the command (C7), within the grace and EndTimeout (C9).
func (r *run) end(ctx context.Context) []event.Process {
	grace := r.jobs.config.Grace
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace+r.jobs.config.EndTimeout)
	defer cancel()
	go func() { // ends with bounded
		select {
		case <-tool.Hurry(ctx): // nil if no client can interrupt again
			r.process.End(bounded, 0)
		case <-bounded.Done():
		}
	}()
	return r.process.End(bounded, grace)
}

// exited handles the ordinary exit. Remaining processes become a job.
func (r *run) exited(ctx context.Context, exit proc.Exit) (tool.Result, error) {
	result := r.result()
	result.Failed = !exit.OK()
	rest := r.process.Rest()
	job, err := Job{}, error(nil)
	if !exit.Lost && len(rest) > 0 {
		job, err = r.jobs.adopt(ctx, r, rest)
	}
	if exit.Lost || err != nil {
		result.Survivors = r.end(ctx) // before the report about the sandbox
	}
	denied := r.denied(ctx, result)
	if why := r.process.Lost(); exit.Lost && why != "" {
		result.Output = paragraph(result.Output, fmt.Sprintf("[the outcome of the command is unknown: %s]", why))
	} else {
		result.Output = r.withExit(result.Output, exit)
	}
	if denied != "" {
		result.Output = paragraph(result.Output, denied)
	}
	if exit.Lost {
		result.Unknown = r.process.Lost() != ""
		return result, nil
	}
	result.ExitCode = &exit.Code
	switch {
	case err != nil:
		result.Output = paragraph(result.Output,
			fmt.Sprintf("[the processes that it left running were ended: %v]", err))
	case job.ID != "":
		result.Jobs = []string{job.ID}
		result.Output = paragraph(result.Output, fmt.Sprintf("[job %s runs on: %s]", job.ID, names(rest)))
	}
	return result, nil
}

// denied describes the sandbox's denials for the command, as far as its output shows them.
func (r *run) denied(ctx context.Context, result tool.Result) string {
	if !r.call.Sandbox.On() {
		return ""
	}
	text := result.Output
	if !result.Failed && !executor.ShowsRefusal(text) {
		if text = ""; !r.jobs.config.Inspect && r.call.Sandbox != event.Workspace {
			return ""
		}
	}
	d := r.denial(ctx, executor.Output{Text: text, Completed: !result.Failed})
	notes := r.guarded(d)
	if denied := r.refusal(d); denied != "" {
		notes = append(notes, denied)
	}
	return strings.Join(notes, "\n")
}

// guarded describes what settle moved aside and put back, for this command and for jobs that have
// ended since the last report.
func (r *run) guarded(d executor.Denial) (notes []string) {
	jobs := r.jobs.takeGuarded()
	if quarantined := quarantined(append(jobs.Quarantined, d.Quarantined...)); quarantined != "" {
		r.call.Notice(quarantined)
		notes = append(notes, quarantined)
	}
	jobs.Restored = append(jobs.Restored, d.Restored...)
	jobs.Unrestored = append(jobs.Unrestored, d.Unrestored...)
	if restored := restored(jobs); restored != "" {
		notes = append(notes, restored)
	}
	return notes
}

// restored describes the protected files that the guard of a command put back, or could not.
func restored(d executor.Denial) (text string) {
	if len(d.Restored) > 0 {
		text = "[the sandbox has put back what commands may not change: " + strings.Join(d.Restored, ", ") +
			"; the changed one (by the command, or by you) is beside it, as *.settle-changed]"
	}
	if len(d.Unrestored) > 0 {
		text += "[the sandbox could not put back what commands may not change: " +
			strings.Join(d.Unrestored, ", ") + "; look at it before another program obeys it]"
	}
	return text
}

// quarantined describes the paths that settle moved aside, and the paths that it could not
// check.
func quarantined(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return "[settle looks for what a sandboxed command leaves in git repositories, because git would run or obey it outside of the sandbox, and moves that aside: " + strings.Join(
		list,
		"; ",
	) +
		". Nothing was deleted, except the content of what is named as emptied. The user can look at it and" +
		" rename it back]"
}

// denial requests the machine's report about the call's sandbox.
func (r *run) denial(ctx context.Context, output executor.Output) (d executor.Denial) {
	output.Sandbox, output.Secrets, output.Workdir = r.call.Sandbox, r.call.Secrets, r.args.Workdir
	args, err := json.Marshal(output)
	if err != nil {
		return d
	}
	answer, err := r.jobs.config.machine.Call(ctx,
		executor.Request{Name: executor.Denials, Call: r.call.ID, Dir: r.call.Dir, Args: args})
	if err == nil {
		err = json.Unmarshal(answer, &d)
	}
	if err != nil { // the report stays incomplete
		d = executor.Denial{}
		if ctx.Err() != nil && r.call.Sandbox == event.Workspace { // C22
			d.Quarantined = []string{
				"settle does not know whether all was looked at before the call ended; run no git in the folders that commands can change before the next sandboxed command",
			}
		}
	}
	return d
}

// refusal describes the denials of the sandbox.
func (r *run) refusal(d executor.Denial) string {
	var words string
	switch {
	case len(d.Named) > 0:
		words = "the sandbox denied " + strings.Join(d.Named, ", ")
	case d.Bounds != "":
		words = "the sandbox may have denied something: " + d.Bounds
	default:
		return ""
	}
	if len(d.Hosts) > 0 {
		words += fmt.Sprintf("; the user can allow it: allow_hosts = %s under [sandbox] in settle's configuration",
			list(d.Hosts))
	}
	others, unasked := !d.Git, r.jobs.config.Unasked || r.jobs.config.Asks != nil && !r.jobs.config.Asks()
	if d.Git && !unasked {
		words += "; the repository (.git) is read-only in the sandbox: run git commands that change it in a call of " +
			"their own, without other commands, and a person is asked to let them run outside"
		others = slices.ContainsFunc(d.Named, func(what string) bool { return !strings.Contains(what, "/.git/") })
	}
	switch {
	case unasked:
		words += "; nobody is asked to let the command run without"
	case others && r.jobs.config.Outside:
		words += `; with "outside": true, a person is asked to let the command run without`
	}
	return "[" + words + "]"
}

// list formats words as a TOML list.
func list(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = strconv.Quote(word)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func (r *run) withExit(output string, exit proc.Exit) string {
	switch {
	case exit.Lost:
		return paragraph(
			output, "[the command was lost: the process that watched it was killed; its exit code is not known]",
		)
	case exit.Signal != 0:
		return paragraph(output, fmt.Sprintf("[killed by signal %d (%s)]", exit.Signal, signalName(exit.Signal)))
	case exit.Code != 0:
		return paragraph(output, fmt.Sprintf("[exit code %d]", exit.Code))
	case output == "":
		return "[no output, exit code 0]"
	}
	return output
}

func (r *run) aborted(ctx context.Context, survivors []event.Process) tool.Result {
	result := r.result()
	if r.call.Sandbox == event.Workspace {
		asking, enough := context.WithTimeout(context.WithoutCancel(ctx), r.jobs.config.EndTimeout/2)
		defer enough()
		for _, note := range r.guarded(r.denial(asking, executor.Output{})) {
			result.Output = paragraph(result.Output, note)
		}
	}
	result.Aborted = true
	result.Survivors = survivors
	result.Unknown = r.process.IsRemote() && len(survivors) > 0 // it can run until the lease ends
	return result
}

func (r *run) timedOut(ctx context.Context, survivors []event.Process) tool.Result {
	result := r.result()
	result.Failed = true
	if denied := r.denied(ctx, result); denied != "" {
		result.Output = paragraph(result.Output, denied)
	}
	result.Survivors = survivors
	result.Output = paragraph(result.Output, fmt.Sprintf(
		"[timed out after %v: settle ended the command and its processes; its output so far is above. "+
			"Use timeout_ms for more time (at most %d), or background for what should run on]",
		r.timeout, r.jobs.config.MaxTimeout.Milliseconds()))
	if len(survivors) > 0 {
		result.Output = paragraph(result.Output, fmt.Sprintf("[not ended: %s]", names(survivors)))
	}
	return result
}

// result is the result of the output alone.
func (r *run) result() tool.Result {
	a := r.capture.take()
	result := tool.Result{Output: a.text, OutputFile: a.file, OutputBytes: a.bytes}
	if a.binary {
		result.Output = fmt.Sprintf("[binary output of %d bytes]", a.bytes)
	}
	switch {
	case a.file != "" && a.partial:
		result.Output = paragraph(result.Output,
			fmt.Sprintf("[the output has %d bytes; the first of them are in %s]", a.bytes, a.file))
	case a.file != "":
		result.Output = paragraph(result.Output, fmt.Sprintf("[the whole output, %d bytes, is in %s]", a.bytes, a.file))
	case a.failure != nil:
		result.Output = paragraph(result.Output,
			fmt.Sprintf("[of the output's %d bytes the rest could not be kept: %v]", a.bytes, a.failure))
	}
	if n := r.process.Wakes(); n > 0 {
		result.Output = paragraph(result.Output,
			fmt.Sprintf("[settle was stopped while this ran, perhaps by the command, and was woken again (%d times)]",
				n))
	}
	return result
}

func paragraph(text, note string) string {
	switch {
	case text == "":
		return note
	case text[len(text)-1] == '\n':
		return text + note
	}
	return text + "\n" + note
}
