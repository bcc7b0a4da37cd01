//go:build unix

package proof

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
)

var (
	tasks  = flag.Int("tasks", 150, "how many turns TestWorkersDie runs")
	seed   = flag.Uint64("seed", 1, "what it draws with")
	faulty = flag.Int("faulty", 120, "how many turns TestDatabaseFaults runs")
	handy  = flag.Int("handy", 40, "how many turns TestExecutorFaults runs")
	every  = flag.Int(
		"every",
		6,
		"at which events TestDeathAtEveryEvent lets workers die: every one, every second, …",
	)
	pause = flag.Duration(
		"pause",
		0,
		"how long to wait between deaths: without, a task's next worker may die before it has settled the log",
	)
	patience = flag.Duration("patience", 3*time.Minute, "how long a test may take")
)

const (
	slots   = 6
	workers = 3
)

// process is a worker.
type process struct {
	id     string
	cmd    *exec.Cmd
	stops  bool // at its last event, instead of dying
	mu     sync.Mutex
	stderr bytes.Buffer
}

// Write implements [io.Writer] for its standard error.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.Write(b)
}

func (p *process) stderrText() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// crew are the workers of a test.
type crew struct {
	t     *testing.T
	place *fleettest.Place
	queue string // of the workers in Temporal
	// silence is how long a turn may be without a heartbeat.
	silence time.Duration
	url     string // of the place
	// program is what workers are started from: this one, or that of another version.
	program  string
	dir      string
	work     string // the directory of the tasks
	executor string // the command of their executor, if they have one
	all      []*process
	running  []*process
	deaths   []death
	woken    []*process
	// env, if set, returns variables of another worker, and within the command that it is run
	// by.
	env    func() []string
	within func() []string
}

func newCrew(t *testing.T) *crew {
	t.Helper()
	temporalServer.Address(t) // or the test fails
	c := &crew{
		t:       t,
		place:   fleettest.New(t, &server),
		queue:   temporalServer.Queue(),
		silence: silence,
		program: os.Args[0],
		dir:     t.TempDir(),
	}
	c.place.Engine = c.engineOf()
	c.url = c.place.URL
	c.work = filepath.Join(c.dir, "work")
	if err := os.Mkdir(c.work, 0o700); err != nil {
		t.Fatal(err)
	}
	return c
}

// death is when a worker was killed, or stopped until it was woken.
type death struct {
	pid       int
	at, until time.Time
}

// start starts a worker, with further variables.
func (c *crew) start(env ...string) *process {
	c.t.Helper()
	p := &process{id: fmt.Sprintf("w%d", len(c.all))}
	p.cmd = exec.Command(c.program)
	if c.within != nil {
		by := c.within()
		p.cmd = exec.Command(by[0], append(by[1:], c.program)...)
	}
	p.cmd.Env = append(
		os.Environ(),
		workerVar+"="+p.id,
		databaseVar+"="+c.url,
		dirVar+"="+c.dir,
		fmt.Sprintf("%s=%d", slotsVar, slots),
	)
	p.cmd.Env = append(p.cmd.Env, c.engineVars()...)
	if c.env != nil {
		p.cmd.Env = append(p.cmd.Env, c.env()...) // the last value counts
	}
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stderr = p
	if err := p.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.all, c.running = append(c.all, p), append(c.running, p)
	return p
}

// signal sends one that the process may be too dead for.
func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// tasksOf returns the tasks that a worker runs.
func (c *crew) tasksOf(ctx context.Context, id string) (tasks []string) {
	c.t.Helper()
	if err := c.place.Pool.QueryRow(ctx, `SELECT coalesce(array_agg(id), '{}') FROM settle_fleet.unit WHERE worker = $1 AND state = 'running'`, id).Scan(&tasks); err != nil {
		c.t.Fatal(err)
	}
	return tasks
}

// countMoved returns the number of the tasks that another worker has taken.
func (c *crew) countMoved(ctx context.Context, tasks []string, from string) (n int) {
	c.t.Helper()
	if err := c.place.Pool.QueryRow(ctx, `SELECT count(*) FROM settle_fleet.unit WHERE id = ANY($1) AND worker <> $2`, tasks, from).Scan(&n); err != nil {
		c.t.Fatal(err)
	}
	return n
}

// await polls until the condition holds.
func (c *crew) await(ctx context.Context, what string, condition func() bool) {
	c.t.Helper()
	for !condition() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			c.t.Fatalf("waited in vain: %s", what)
		}
	}
}

// killOrStop kills a worker that has something to do, or stops it until others have
// taken that, and starts another one in its place. One that wakes replaces a third.
func (c *crew) killOrStop(ctx context.Context, r *rand.Rand) {
	n := r.IntN(len(c.running))
	p := c.running[n]
	busy := func() bool {
		open, err := c.place.Open(ctx)
		return err == nil && open == 0 || len(c.tasksOf(ctx, p.id)) > 0
	}
	c.await(ctx, p.id+" has something to do", busy)
	time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond) // anywhere in its turns
	c.running = slices.Delete(c.running, n, n+1)
	d := death{pid: p.cmd.Process.Pid, at: time.Now(), until: time.Now().Add(time.Hour)}
	if r.IntN(3) > 0 {
		p.signal(syscall.SIGKILL)
		c.woken = slices.DeleteFunc(c.woken, func(w *process) bool { return w == p }) // it may not have got to say so
	} else {
		p.signal(syscall.SIGSTOP)
		tasks := c.tasksOf(ctx, p.id)
		c.start()
		c.await(ctx, "what "+p.id+" had is taken over", func() bool { return len(c.tasksOf(ctx, p.id)) == 0 })
		d.until = time.Now()
		p.signal(syscall.SIGCONT)
		if c.countMoved(ctx, tasks, p.id) > 0 { // else it had just said how they ended
			c.woken = append(c.woken, p)
		}
		c.deaths, c.running = append(c.deaths, d), append(c.running, p)
		c.retire(c.running[0])
		return
	}
	c.deaths = append(c.deaths, d)
	c.start()
}

// TestWorkersDie: workers are killed and stopped at random while they run turns with
// commands. Each task ends once and completes, no input is lost, no call runs twice,
// and a worker that was stopped for too long says that others have its tasks.
func TestWorkersDie(t *testing.T) {
	c := newCrew(t)
	ctx, cancel := context.WithTimeout(t.Context(), *patience)
	defer cancel()
	defer c.end()
	c.submit(*tasks)
	r := rand.New(rand.NewPCG(*seed, 0))
	began := time.Now()
	for {
		open, err := c.place.Open(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if open < slots*workers { // what is left is to end undisturbed
			break
		}
		c.killOrStop(ctx, r)
		time.Sleep(*pause)
	}
	ended := c.place.Await(ctx, t)
	t.Logf(
		"%d turns in %s while %d workers died or were stopped",
		*tasks,
		time.Since(began).Round(time.Second),
		len(c.deaths),
	)
	c.check(ended)
	c.awaitRefusals(ctx)
}

// awaitRefusals waits until the workers that were woken have logged that other workers have their tasks.
func (c *crew) awaitRefusals(ctx context.Context) {
	c.t.Helper()
	for _, p := range c.woken {
		c.await(
			ctx,
			p.id+" says that it was refused",
			func() bool { return strings.Contains(p.stderrText(), "another worker has the task now") },
		)
	}
}

// retire has a worker end in good order.
func (c *crew) retire(p *process) {
	p.signal(syscall.SIGTERM)
	c.running = slices.DeleteFunc(c.running, func(q *process) bool { return q == p })
}

// submit submits turns, and starts the workers.
func (c *crew) submit(n int) {
	c.t.Helper()
	c.tasks(n)
	for range workers {
		c.start()
	}
}

// name is that of the n-th session.
func name(n int) string { return fmt.Sprintf("s%05d", n) }

// tasks submits turns.
func (c *crew) tasks(n int) {
	c.t.Helper()
	tasks := make([]fleet.Task, n)
	for n := range tasks {
		tasks[n] = fleet.Task{Session: name(n), Prompt: "work", Dir: c.work, Executor: c.executor}
	}
	c.place.Submit(c.t, tasks...)
}

// end ends all workers. Where the test has failed, it shows what they said.
func (c *crew) end() {
	for _, p := range c.all {
		p.signal(syscall.SIGCONT)
		p.signal(syscall.SIGTERM)
	}
	for _, p := range c.all {
		_ = p.cmd.Wait() // most were killed
		if c.t.Failed() {
			c.t.Logf("worker %s:\n%s", p.id, p.stderrText())
		}
	}
}

// check compares what the tasks say, their logs, and what the commands counted.
func (c *crew) check(ended []fleet.TaskStatus) {
	c.t.Helper()
	runs := counted(c.t, filepath.Join(c.work, "calls"))
	fleettest.CheckOnce(c.t, runs)
	moved, unknown := 0, 0
	var slowest time.Duration
	for _, u := range ended {
		if u.Result == nil || u.Result.Outcome != event.Completed ||
			u.Result.Answer != fmt.Sprintf("done after %d calls", calls) {
			c.t.Errorf("task %s: %+v", u.ID, u.Result)
		}
		events := c.place.Events(c.t, u.Task.Session)
		if u.Attempt > 1 {
			moved++
		}
		unknown += c.compare(u, events, runs)
		slowest = max(slowest, c.settled(events))
	}
	c.t.Logf(
		"%d tasks moved to another worker; %d calls have unknown effects; the slowest was settled %s after its worker's death",
		moved,
		unknown,
		slowest.Round(time.Millisecond),
	)
}

// compare checks that a call that says that it completed ran, and that one that says that
// it had no effects did not. It returns how many nobody knows of. The model asks for a call
// anew that was cut off before it was complete.
func (c *crew) compare(u fleet.TaskStatus, events []event.Event, runs map[string]int) (unknown int) {
	c.t.Helper()
	began, none := map[string]bool{}, map[string]bool{}
	for _, e := range events {
		d, ok := e.Data.(event.ItemEnded)
		if !ok || d.Type != event.ToolCall {
			continue
		}
		token := ""
		if words := regexp.MustCompile(`echo (\S+)`).FindStringSubmatch(d.Arguments); words != nil {
			token = words[1]
		}
		switch {
		case d.Effects == event.EffectsNone:
			none[token] = true
			continue
		case d.Effects == event.EffectsUnknown:
			unknown++
		case d.Status == event.ItemCompleted && runs[token] != 1:
			c.t.Errorf("a call of %s completed and ran %d times: %s", u.ID, runs[token], d.Arguments)
		}
		began[token] = true
	}
	for token := range none {
		if runs[token] > 0 && !began[token] {
			c.t.Errorf("call %s of %s had no effects and ran", token, u.ID)
		}
	}
	return unknown
}

// settled returns how long after its worker's death a session was settled.
func (c *crew) settled(events []event.Event) (slowest time.Duration) {
	for _, e := range events {
		recovered, ok := e.Data.(event.SessionRecovered)
		if !ok {
			continue
		}
		for _, d := range c.deaths {
			if d.pid == recovered.PID && e.At.After(d.at) && e.At.Before(d.until) {
				slowest = max(slowest, e.At.Sub(d.at))
			}
		}
	}
	return slowest
}

// counted returns how often each command says that it ran.
func counted(t *testing.T, path string) map[string]int {
	t.Helper()
	runs := map[string]int{}
	f, err := os.Open(path)
	if err != nil {
		t.Error(err)
		return runs
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		runs[lines.Text()]++
	}
	return runs
}
