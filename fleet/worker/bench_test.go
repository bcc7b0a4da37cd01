package worker

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/model"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/tool"
)

// BenchmarkTurns runs turns with one call each through workflows, from a queue
// that is full, in one worker. The model and the call take no time. It needs a Postgres;
// what that uses of the machine is in the figures.
func BenchmarkTurns(b *testing.B) {
	for _, slots := range []int{1, 32, 128} {
		b.Run(fmt.Sprintf("slots=%d", slots), func(b *testing.B) { benchmarkTurns(b, slots) })
	}
}

func benchmarkTurns(b *testing.B, slots int) {
	p := newPlace(b)
	var r fleettest.Record
	dir, work := b.TempDir(), r.Tool(b)
	tasks := make([]fleet.Task, b.N)
	for n := range tasks {
		tasks[n] = fleet.Task{Session: fmt.Sprint("s", n), Input: "1", Prompt: "work"}
	}
	p.Submit(b, tasks...)
	before := transactions(b, p)
	b.ResetTimer()
	w, err := New(
		b.Context(),
		Config{
			ID:     "w",
			Engine: p.Engine,
			Logs:   p.Logs,
			Slots:  slots,
			Session: func(context.Context, fleet.Attempt) (settle.SessionConfig, error) {
				return settle.SessionConfig{
					Model: model.Config{
						Provider:     fleettest.Model{Calls: 1, Call: r.Call},
						ProviderName: "test",
						Name:         "test",
					},
					Permission: settle.Allow, WorkDir: dir, Tools: []tool.Tool{work},
				}, nil
			},
		},
	)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }() // it is waited for below
	wait, stop := context.WithTimeout(b.Context(), 10*time.Minute)
	defer stop()
	for statuses := p.Await(wait, b); len(statuses) != b.N; {
		b.Fatalf("%d tasks", len(statuses))
	}
	b.StopTimer()
	cancel()
	if err := <-ended; err != nil {
		b.Error(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
	b.ReportMetric(float64(p.Logs.Commits())/float64(b.N), "log-tx/turn")
	b.ReportMetric(float64(transactions(b, p)-before)/float64(b.N), "all-tx/turn")
}

// transactions returns how many the database has committed.
func transactions(b *testing.B, p *fleettest.Place) (n int64) {
	b.Helper()
	if err := p.Pool.QueryRow(b.Context(), `SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()`).Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkCancel has as many turns at once as there are iterations, in one worker, each
// in a call that ends with its context, and cancels them one after the other: from the
// request until the database has the task's end, also while the request still waits
// for Temporal's answer. It says what memory the process has while all run; that is the worker's,
// the benchmark's and its model's.
func BenchmarkCancel(b *testing.B) {
	p := newPlace(b)
	dir := b.TempDir()
	var running atomic.Int64
	wait, err := tool.New("work", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
		running.Add(1)
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	if err != nil {
		b.Fatal(err)
	}
	tasks := make([]fleet.Task, b.N)
	for n := range tasks {
		tasks[n] = fleet.Task{Session: fmt.Sprint("s", n), Input: "1", Prompt: "work"}
	}
	p.Submit(b, tasks...)
	completed := make(chan string, b.N+1)
	w, err := New(
		b.Context(),
		Config{
			ID:     "w",
			Engine: reporter{p.Engine, completed},
			Logs:   p.Logs,
			Slots:  b.N,
			Session: func(context.Context, fleet.Attempt) (settle.SessionConfig, error) {
				return settle.SessionConfig{
					Model: model.Config{
						Provider: fleettest.Model{
							Calls: 1,
							Call:  func(string) (string, string) { return "work", "{}" },
						},
						ProviderName: "test",
						Name:         "test",
					},
					Permission: settle.Allow, WorkDir: dir, Tools: []tool.Tool{wait},
				}, nil
			},
		},
	)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }() // it is waited for below
	for running.Load() < int64(b.N) {
		time.Sleep(10 * time.Millisecond)
	}
	memory := resident(b)
	var durations []time.Duration
	b.ResetTimer()
	for n := range b.N {
		taskID, began := fmt.Sprintf("s%d/1", n), time.Now()
		answered := make(chan struct{})
		go func() { // it is waited for below
			defer close(answered)
			if open, err := p.Engine.Cancel(b.Context(), taskID, "bench"); err != nil || !open {
				completed <- fmt.Sprintf("%s, open: %t, %v", taskID, open, err)
			}
		}()
		if ended := <-completed; ended != taskID {
			b.Fatalf("%s was cancelled, and then %s", taskID, ended)
		}
		durations = append(durations, time.Since(began))
		<-answered
	}
	b.StopTimer()
	cancel()
	if err := <-ended; err != nil {
		b.Error(err)
	}
	b.ReportMetric(memory, "MB")
	slices.Sort(durations)
	b.ReportMetric(float64(durations[len(durations)/2].Microseconds())/1000, "ms/p50")
	b.ReportMetric(float64(durations[len(durations)*99/100].Microseconds())/1000, "ms/p99")
}

// reporter is an engine that reports which tasks have ended. A benchmark that asks the database instead takes
// processor time from what it measures.
type reporter struct {
	fleet.Engine
	completed chan<- string // has room for each task, and for an error
}

// Complete implements [fleet.Engine].
func (e reporter) Complete(ctx context.Context, a fleet.Attempt, r *fleet.Result) error {
	err := e.Engine.Complete(ctx, a, r)
	if err == nil && r != nil {
		e.completed <- a.TaskID
	}
	return err
}

// resident returns the process's memory in megabytes.
func resident(b *testing.B) float64 {
	b.Helper()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0 // only Linux says it
	}
	var size, pages int
	if _, err := fmt.Sscan(string(statm), &size, &pages); err != nil {
		b.Fatal(err)
	}
	return float64(pages*os.Getpagesize()) / 1e6
}
