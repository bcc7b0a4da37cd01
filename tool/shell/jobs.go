package shell

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/tool"
)

// askTimeout bounds the request to a machine for the files that a job's sandbox left.
const askTimeout = 5 * time.Second

// maxEnded bounds the ended jobs that can still be read.
const maxEnded = 32

// Jobs keeps the processes of one session: of calls, and of jobs that outlive them. All
// methods are safe for concurrent use.
type Jobs struct {
	config Config

	mu      sync.Mutex
	closed  bool
	running map[*proc.Process]bool // all processes that have not ended
	jobs    []*job                 // in the order of their start
	local   int                    // number of ids without a Registry
	// guarded has what was moved aside and put back at the ends of jobs, until a call reports it.
	guarded executor.Denial
	tending sync.WaitGroup // running starts, and goroutines that wait for a Done
}

// NewJobs returns the keeper of a session's processes. The caller must call Close.
func NewJobs(config Config) *Jobs {
	return &Jobs{config: config.withDefaults(), running: make(map[*proc.Process]bool)}
}

// Tools returns the model's tools: "shell" and "job".
func (j *Jobs) Tools() []tool.Tool { return []tool.Tool{j.shellTool(), (&jobTool{j}).tool()} }

// ErrClosed: the session has ended.
var ErrClosed = errors.New("the session is closing: nothing is started any more")

// start starts a process and a goroutine for its end.
func (j *Jobs) start(ctx context.Context, command executor.Command, c *capture) (*proc.Process, error) {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil, ErrClosed
	}
	j.tending.Add(1)
	j.mu.Unlock()
	p, err := j.config.machine.Start(ctx, command)
	if err != nil {
		j.tending.Done()
		return nil, err
	}
	if late := j.tend(p, c); late {
		p.End(ctx, 0)
		return nil, ErrClosed
	}
	return p, nil
}

// tend handles the end of a process, for which the caller counted tending, and reports
// whether the session was already closed.
func (j *Jobs) tend(p *proc.Process, c *capture) (late bool) {
	j.mu.Lock()
	j.running[p] = true
	late = j.closed
	j.mu.Unlock()
	go func() { // ends with the process; Close waits for it
		defer j.tending.Done()
		<-p.Done()
		c.close()
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(j.running, p)
	}()
	return late
}

// adopt makes a job of a call's process, or of the processes that it left.
func (j *Jobs) adopt(ctx context.Context, r *run, members []event.Process) (Job, error) {
	log, err := r.capture.spill()
	if err != nil {
		return Job{}, err
	}
	b := &job{
		process: r.process, capture: r.capture, run: r, ended: make(chan struct{}),
		background: r.args.Background,
		info:       Job{PID: members[0].PID, Command: members[0].Command, Log: log, Started: r.began},
	}
	if b.background {
		b.info.Command = r.args.Command
	} else {
		b.read = r.capture.size() // the call's result has this output
	}
	record := r.process.Record(b.info.PID)
	started := event.JobStarted{
		PID: b.info.PID, Command: b.info.Command, Log: log,
		Mark: record.Mark, Process: record.Process, Keeper: record.Keeper,
	}
	if b.info.ID, err = j.register(ctx, started); err != nil {
		return Job{}, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.jobs = append(forgetOldest(j.jobs), b)
	j.tending.Add(1) // start still holds one: Close is before its wait
	go func() {      // ends with the process; Close waits for it
		defer j.tending.Done()
		<-b.process.Done()
		j.conclude(context.WithoutCancel(ctx), b)
	}()
	return b.info, nil
}

func (j *Jobs) register(ctx context.Context, started event.JobStarted) (string, error) {
	if j.config.Registry != nil {
		return j.config.Registry.JobStarted(context.WithoutCancel(ctx), started)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.local++
	return fmt.Sprintf("j%06d", j.local), nil
}

// conclude reports the end of a job once.
func (j *Jobs) conclude(ctx context.Context, b *job) {
	b.capture.drain() // a reader that learns of the end can read the whole log
	end := j.outcome(b)
	if b.run.call.Sandbox == event.Workspace {
		asking, enough := context.WithTimeout(ctx, askTimeout)
		d := b.run.denial(asking, executor.Output{})
		enough()
		end.Quarantined = d.Quarantined
		for _, path := range d.Restored {
			end.Quarantined = append(end.Quarantined,
				path+": it was changed while the job ran, and settle put it back; the changed one is beside it")
		}
		for _, path := range d.Unrestored {
			end.Quarantined = append(end.Quarantined, path+": it was changed while the job ran, and is not put back")
		}
		j.mu.Lock()
		j.guarded.Quarantined = append(j.guarded.Quarantined, d.Quarantined...)
		j.guarded.Restored = append(j.guarded.Restored, d.Restored...)
		j.guarded.Unrestored = append(j.guarded.Unrestored, d.Unrestored...)
		j.mu.Unlock()
	}
	if j.config.Registry != nil {
		// A failed log reports its error itself.
		_ = j.config.Registry.JobEnded(ctx, end)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	b.info.How, b.info.ExitCode, b.info.Survivors = end.How, end.ExitCode, end.Survivors
	close(b.ended)
}

// takeGuarded returns what was moved aside and put back at the ends of jobs, once.
func (j *Jobs) takeGuarded() executor.Denial {
	j.mu.Lock()
	defer j.mu.Unlock()
	d := j.guarded
	j.guarded = executor.Denial{}
	return d
}

func (j *Jobs) outcome(b *job) event.JobEnded {
	j.mu.Lock()
	defer j.mu.Unlock()
	exit := b.process.Exit()
	end := event.JobEnded{Job: b.info.ID, How: event.JobExited, Survivors: b.process.Survivors()}
	switch {
	case b.wanted != "":
		end.How = b.wanted
	case b.process.EndedByOthers():
		end.How = event.JobKilled
	case exit.Lost || b.process.Lost() != "":
		end.How = event.JobLost
	}
	if b.background && !exit.Lost {
		end.ExitCode = &exit.Code
	}
	return end
}

// forgetOldest removes the oldest ended job.
func forgetOldest(jobs []*job) []*job {
	ended := 0
	for _, b := range jobs {
		if b.info.How != "" {
			ended++
		}
	}
	for i, b := range jobs {
		if ended >= maxEnded && b.info.How != "" {
			return append(jobs[:i:i], jobs[i+1:]...)
		}
	}
	return jobs
}

// List returns the session's jobs, including the last ended ones.
func (j *Jobs) List() []Job {
	j.mu.Lock()
	defer j.mu.Unlock()
	list := make([]Job, 0, len(j.jobs))
	for _, b := range j.jobs {
		list = append(list, b.info)
	}
	return list
}

func (j *Jobs) find(id string) (*job, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, b := range j.jobs {
		if b.info.ID == id {
			return b, nil
		}
	}
	return nil, fmt.Errorf("cannot find job %q: there is none with that id", id)
}

// Kill ends a job: TERM, grace, KILL. It returns after its end is recorded, with the
// processes that did not end.
func (j *Jobs) Kill(ctx context.Context, id string) ([]event.Process, error) {
	b, err := j.find(id)
	if err != nil {
		return nil, err
	}
	j.want(b, event.JobKilled)
	survivors := b.process.End(ctx, j.config.Grace)
	select {
	case <-b.ended:
		return survivors, nil
	case <-ctx.Done():
		return survivors, fmt.Errorf("cannot wait for the end of job %q: %w", id, context.Cause(ctx))
	}
}

// KillAll ends all running jobs, for sessions that keep none after an interrupt.
func (j *Jobs) KillAll(ctx context.Context) ([]event.Process, error) {
	var (
		mu        sync.Mutex
		survivors []event.Process
		failed    error
		wg        sync.WaitGroup
	)
	for _, info := range j.List() {
		if info.How != "" {
			continue
		}
		wg.Go(func() { // ends with the job, or with ctx
			left, err := j.Kill(ctx, info.ID)
			mu.Lock()
			defer mu.Unlock()
			survivors, failed = append(survivors, left...), errors.Join(failed, err)
		})
	}
	wg.Wait()
	return survivors, failed
}

// want records the reason of a job's end; the first reason counts.
func (j *Jobs) want(b *job, how event.JobEnd) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if b.wanted == "" {
		b.wanted = how
	}
}

func (j *Jobs) mayRelease(ctx context.Context, command string) error {
	if j.config.Release == nil {
		return errors.New("cannot release the command: this session does not let processes outlive it")
	}
	return j.config.Release(ctx, command)
}

// Release lets a job outlive settle. Its log continues. Release does not call
// Config.Release, which decides about the model's requests.
func (j *Jobs) Release(ctx context.Context, id string) (Job, error) {
	b, err := j.find(id)
	if err != nil {
		return Job{}, err
	}
	j.want(b, event.JobReleased)
	if err := b.process.Release(proc.Log{Path: b.info.Log, MaxBytes: j.config.SpoolBytes}); err != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		b.wanted = ""
		return Job{}, err
	}
	select {
	case <-b.ended:
	case <-ctx.Done():
		return Job{}, context.Cause(ctx)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return b.info, nil
}

// Close ends every process of the session, including jobs, and waits until their ends are
// recorded. It returns the processes that did not end, or that still run when ctx ends.
func (j *Jobs) Close(ctx context.Context) ([]event.Process, error) {
	survivors := j.endAll(ctx)
	waited := make(chan struct{})
	go func() { // ends with the last process
		j.tending.Wait()
		close(waited)
	}()
	select {
	case <-waited:
		return survivors, nil
	case <-ctx.Done():
		return survivors, fmt.Errorf("cannot wait for the session's processes: %w", context.Cause(ctx))
	}
}

func (j *Jobs) endAll(ctx context.Context) []event.Process {
	j.mu.Lock()
	j.closed = true
	for _, b := range j.jobs {
		if b.info.How == "" && b.wanted == "" {
			b.wanted = event.JobKilled
		}
	}
	var running []*proc.Process
	for p := range j.running {
		select {
		case <-p.Done(): // the result of its call, or its job's end, named its survivors
		default:
			running = append(running, p)
		}
	}
	j.mu.Unlock()
	var (
		wg        sync.WaitGroup
		mu        sync.Mutex
		survivors []event.Process
	)
	for _, p := range running {
		wg.Go(func() { // ends with the process, or with ctx
			left := p.End(ctx, j.config.Grace)
			mu.Lock()
			defer mu.Unlock()
			survivors = append(survivors, left...)
		})
	}
	wg.Wait()
	return survivors
}
