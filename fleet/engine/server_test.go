package engine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/engine"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/fleet/index"
	"github.com/settle-agent/settle/fleet/pgdev/pgtest"
	"github.com/settle-agent/settle/fleet/temporaldev/temporaltest"
	"github.com/settle-agent/settle/modeltest/leak"
)

var (
	server         pgtest.Server
	temporalServer temporaltest.Server
	update         = flag.Bool("update", false, "record the histories of TestReplay anew")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(killedWorkerVar) != "" {
		if err := runKilledWorker(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(leak.Run(server.Tests(m, temporalServer.Stop)))
}

// patience bounds what a test waits for.
const patience = 2 * time.Minute

// newPlace returns a place with an engine, and the engine.
func newPlace(t testing.TB) (*fleettest.Place, *engine.Engine) {
	t.Helper()
	temporalServer.Address(t) // or the test fails
	p := fleettest.New(t, &server)
	return p, temporalServer.Engine(t, p)
}

// crew is what workers of a test have run, in order.
type crew struct {
	t testing.TB
	e *engine.Engine

	mu   sync.Mutex
	runs []run
}

type run struct{ worker, taskID string }

// work has a worker take tasks until stop is called, which waits for its end. Without a run
// function, each task completes at once.
func (c *crew) work(
	e *engine.Engine,
	w fleet.Work,
	do func(ctx context.Context, a fleet.Attempt, cancelled context.Context) *fleet.Result,
) (stop func()) {
	c.t.Helper()
	w.Run = func(ctx, cancelled context.Context, a *fleet.Attempt) {
		c.mu.Lock()
		c.runs = append(c.runs, run{w.Worker, a.TaskID})
		c.mu.Unlock()
		r := &fleet.Result{Outcome: event.Completed}
		if do != nil {
			r = do(ctx, *a, cancelled)
		}
		if err := e.Complete(context.WithoutCancel(ctx), *a, r); err != nil {
			c.t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		if err := e.Work(ctx, w); err != nil {
			c.t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); ended.Wait() })
	c.t.Cleanup(stop)
	return stop
}

// order returns the tasks in the order in which they ran.
func (c *crew) order() []run {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.runs)
}

func await(t testing.TB, p *fleettest.Place) []fleet.TaskStatus {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return p.Await(ctx, t)
}

func several(n int, tenant string) []fleet.Task {
	tasks := make([]fleet.Task, n)
	for i := range tasks {
		tasks[i] = fleet.Task{Session: fmt.Sprintf("%s%03d", tenant, i), Prompt: "work", Tenant: tenant}
	}
	return tasks
}

// hold is a run that takes a moment.
func hold(moment time.Duration) func(context.Context, fleet.Attempt, context.Context) *fleet.Result {
	return func(ctx context.Context, _ fleet.Attempt, _ context.Context) *fleet.Result {
		select {
		case <-time.After(moment):
			return &fleet.Result{Outcome: event.Completed}
		case <-ctx.Done():
			return nil
		}
	}
}

// TestEvenDispatch: two idle workers get three of six tasks each, within one.
func TestEvenDispatch(t *testing.T) {
	p, e := newPlace(t)
	c := &crew{t: t, e: e}
	for _, name := range []string{"w1", "w2"} {
		c.work(e, fleet.Work{Worker: name, Slots: 6}, hold(2*time.Second))
	}
	p.Submit(t, fleet.Task{Session: "first", Prompt: "work"}) // then both workers wait for tasks
	await(t, p)
	p.Submit(t, several(6, "t")...)
	await(t, p)
	first := 0
	for _, r := range c.order()[1:] {
		if r.worker == "w1" {
			first++
		}
	}
	if first < 2 || first > 4 {
		t.Errorf("worker w1 has %d of 6 tasks", first)
	}
}

// TestTenantsHaveTheirShares: a tenant's few tasks do not wait behind another one's many.
func TestTenantsHaveTheirShares(t *testing.T) {
	p, e := newPlace(t)
	c := &crew{t: t, e: e}
	p.Submit(t, several(80, "many")...)
	p.Submit(t, several(8, "few")...)
	c.work(e, fleet.Work{Worker: "w", Slots: 1}, nil)
	await(t, p)
	last := 0
	for n, r := range c.order() {
		if r.taskID[:3] == "few" {
			last = n
		}
	}
	if last > 44 { // 16 if turns alternate; 80 or more if they do not
		t.Errorf("the last of the few was number %d of 88", last+1)
	}
}

// TestWeightsOfTenants: of two tenants that wait, the one with thrice the weight gets thrice the
// turns.
func TestWeightsOfTenants(t *testing.T) {
	p, e := newPlace(t)
	c := &crew{t: t, e: e}
	if err := p.Index.SetTenant(t.Context(), index.Tenant{Name: "heavy", Weight: 3}); err != nil {
		t.Fatal(err)
	}
	p.Submit(t, several(60, "light")...)
	p.Submit(t, several(60, "heavy")...)
	c.work(e, fleet.Work{Worker: "w", Slots: 1}, nil)
	await(t, p)
	heavy := 0
	for _, r := range c.order()[:60] { // 45 by their weights; 30 without, 0 by their order
		if strings.HasPrefix(r.taskID, "heavy") {
			heavy++
		}
	}
	if heavy < 37 || heavy > 53 {
		t.Errorf("the heavy tenant has %d of the first 60 turns", heavy)
	}
}

// TestALostTurnPrecedesTheBacklog: it is tried again before the tasks that wait for longer.
func TestALostTurnPrecedesTheBacklog(t *testing.T) {
	p, e := newPlace(t)
	c := &crew{t: t, e: e}
	p.Submit(t, several(100, "t")...)
	var lost string
	c.work(
		e,
		fleet.Work{Worker: "w", Slots: 1},
		func(_ context.Context, a fleet.Attempt, _ context.Context) *fleet.Result {
			if lost == "" {
				lost = a.TaskID
				return nil
			}
			return &fleet.Result{Outcome: event.Completed}
		},
	)
	statuses := await(t, p)
	second := slices.Index(c.order()[1:], run{"w", lost})
	if second > 60 { // it waits for its pause, and then for the turn that runs
		t.Errorf("the turn was tried again after %d of 99 others", second)
	}
	for _, u := range statuses {
		if u.ID != lost && u.Attempt != 1 || u.ID == lost && u.Attempt != 2 {
			t.Errorf("%+v", u)
		}
	}
}

// TestALongTurnIsPromoted: what its session decides next precedes sessions that have not begun.
func TestALongTurnIsPromoted(t *testing.T) {
	p, e := newPlace(t)
	c := &crew{t: t, e: e}
	dial, id := temporalServer.Client(t), temporalServer.Last()+":s"
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work"})
	w := fleet.Work{Worker: "w", Slots: 1}
	c.work(e, w, func(ctx context.Context, _ fleet.Attempt, _ context.Context) *fleet.Result {
		for {
			d, err := dial.DescribeWorkflowExecution(ctx, id, "")
			if err == nil && d.GetWorkflowExecutionInfo().GetPriority().GetPriorityKey() == 1 {
				return &fleet.Result{Outcome: event.Completed}
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				return nil
			}
		}
	})
	await(t, p)
}

// TestDrainEnds: a turn that is longer is for another worker, at once.
func TestDrainEnds(t *testing.T) {
	p, e := newPlace(t)
	c := &crew{t: t, e: e}
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work"})
	began := make(chan struct{})
	stop := c.work(
		e,
		fleet.Work{Worker: "w1", Slots: 1, Drain: time.Millisecond},
		func(ctx context.Context, _ fleet.Attempt, _ context.Context) *fleet.Result {
			close(began)
			<-ctx.Done()
			if cause := context.Cause(ctx); cause != fleet.ErrShutdown { //nolint:errorlint // it is that one
				t.Errorf("it ends with %v", cause)
			}
			return nil
		},
	)
	<-began
	stop()
	c.work(e, fleet.Work{Worker: "w2", Slots: 1}, nil)
	if u := await(t, p)[0]; u.Attempt != 2 || u.Lost != 0 || u.Worker != "w2" {
		t.Errorf("%+v", u)
	}
}

// TestACancellationInTemporal ends the session's tasks in Postgres, those that wait as well, but none that is
// submitted later.
func TestACancellationInTemporal(t *testing.T) {
	p, e := newPlace(t)
	c := &crew{t: t, e: e}
	p.Submit(
		t,
		fleet.Task{Session: "s", Input: "1", Prompt: "work"},
		fleet.Task{Session: "s", Input: "2", Prompt: "work"},
	)
	began := make(chan struct{})
	c.work(
		e,
		fleet.Work{Worker: "w", Slots: 1},
		func(ctx context.Context, a fleet.Attempt, cancelled context.Context) *fleet.Result {
			if a.TaskID == "s/later" {
				return &fleet.Result{Outcome: event.Completed}
			}
			if a.Cancel != "" { // of a task that waited
				return &fleet.Result{Outcome: event.Aborted, Reason: event.Interrupted, Message: a.Cancel}
			}
			close(began)
			select {
			case <-cancelled.Done():
				p.Submit(t, fleet.Task{Session: "s", Input: "later", Prompt: "work"})
				by := (*fleet.CancelledError)(nil)
				if !errors.As(context.Cause(cancelled), &by) {
					t.Errorf("cancelled with %v", context.Cause(cancelled))
					return nil
				}
				return &fleet.Result{Outcome: event.Aborted, Reason: event.Interrupted, Message: by.By}
			case <-ctx.Done():
				return nil
			}
		},
	)
	<-began
	if err := temporalServer.Client(t).CancelWorkflow(t.Context(), temporalServer.Last()+":s", ""); err != nil {
		t.Fatal(err)
	}
	for _, u := range await(t, p) {
		later := u.ID == "s/later"
		if later != (u.Cancel == "") || later != (u.Result.Outcome == event.Completed) {
			t.Errorf("%+v, %+v", u, u.Result)
		}
	}
}

// TestSearchAttributes: people find a session by what its tasks are.
func TestSearchAttributes(t *testing.T) {
	p, e := newPlace(t)
	c := &crew{t: t, e: e}
	c.work(e, fleet.Work{Worker: "w", Slots: 1}, nil)
	warm(t, p)
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work", Tenant: "acme", Batch: "nightly", Model: "m/n"})
	got := attributesOf(t, p, "s")
	for name, want := range map[string]string{"SettleTenant": "acme", "SettleBatch": "nightly", "SettleModel": "m/n", "SettleState": "ended", "SettleOutcome": "completed"} {
		if got[name] != want {
			t.Errorf("%s is %q", name, got[name])
		}
	}
}

// warm waits until sessions have search attributes: servers learn of new ones with a delay.
func warm(t *testing.T, p *fleettest.Place) {
	t.Helper()
	for n, begin := 0, time.Now(); ; n++ {
		session := fmt.Sprint("warm", n)
		p.Submit(t, fleet.Task{Session: session, Prompt: "work"})
		if attributesOf(t, p, session)["SettleState"] != "" {
			return
		}
		if time.Since(begin) > patience {
			t.Fatal("sessions have no search attributes")
		}
	}
}

// attributesOf returns the search attributes of a session when all tasks have ended.
func attributesOf(t *testing.T, p *fleettest.Place, session string) map[string]string {
	t.Helper()
	await(t, p)
	dial := temporalServer.Client(t)
	run := dial.GetWorkflow(t.Context(), temporalServer.Last()+":"+session, "")
	if err := run.Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	d, err := dial.DescribeWorkflowExecution(t.Context(), run.GetID(), "")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, payload := range d.GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields() {
		var value string
		_ = converter.GetDefaultDataConverter().FromPayload(payload, &value) // others are not texts
		got[name] = value
	}
	return got
}

// TestVersions: workers of a deployment take tasks when their version is the current one.
func TestVersions(t *testing.T) {
	temporalServer.Address(t) // or the test fails
	p := fleettest.New(t, &server)
	name, queue, dial := fmt.Sprint("deployment", os.Getpid()), temporalServer.Queue(), temporalServer.Client(t)
	c := &crew{t: t}
	p.Engine = engine.Open(p.Pool, dial, engine.Options{Queue: queue})
	for n, build := range []string{"1.0", "1.1"} {
		e := engine.Open(p.Pool, dial, engine.Options{Queue: queue, Deployment: name, Build: build})
		c.work(e, fleet.Work{Worker: build, Slots: 2}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for { // as temporal worker deployment set-current-version does, when the server knows the version
			_, err := dial.WorkerDeploymentClient().
				GetHandle(name).
				SetCurrentVersion(ctx, client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		p.Submit(t, several(4, fmt.Sprint("t", n))...)
		await(t, p)
		for _, r := range c.order()[4*n:] {
			if r.worker != build {
				t.Errorf("%+v ran on another version than %s", r, build)
			}
		}
	}
}

// BenchmarkSubmit submits one task at a time by several goroutines, and batches of 500, until
// they are durable; the outbox is for later.
func BenchmarkSubmit(b *testing.B) {
	b.Run("each", func(b *testing.B) {
		p, e := newPlace(b)
		var n int
		var mu sync.Mutex
		b.SetParallelism(8)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				mu.Lock()
				n++
				task := fleet.Task{Session: fmt.Sprint("s", n), Input: "1", Prompt: "work", Tenant: "default"}
				mu.Unlock()
				if _, err := e.Submit(b.Context(), []fleet.Task{task}); err != nil {
					b.Error(err)
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
		if c, err := p.Index.Tally(b.Context(), index.Filter{}); err != nil || c.Outbox > 0 {
			b.Errorf("%+v, %v", c, err)
		}
	})
	b.Run("batch", func(b *testing.B) {
		_, e := newPlace(b)
		var tasks []fleet.Task
		for n := range b.N {
			tasks = append(
				tasks, fleet.Task{Session: fmt.Sprint("s", n), Input: "1", Prompt: "work", Tenant: "default"},
			)
		}
		b.ResetTimer()
		for part := range slices.Chunk(tasks, 500) {
			if _, err := e.Accept(b.Context(), part); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
	})
}
