package worker

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/model"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/tool"
)

// BenchmarkTurns runs turns with one call each through the lease, from a queue that
// is full, in one worker. The model and the call take no time. It needs a Postgres;
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
	w, err := New(b.Context(), Config{ID: "w", Engine: p.Runs, Logs: p.Logs, Slots: slots, Session: func(context.Context, fleet.Attempt) (settle.SessionConfig, error) {
		return settle.SessionConfig{
			Model:      model.Config{Provider: fleettest.Model{Calls: 1, Call: r.Call}, ProviderName: "test", Name: "test"},
			Permission: settle.Allow, WorkDir: dir, Tools: []tool.Tool{work},
		}, nil
	}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }() // it is waited for below
	wait, stop := context.WithTimeout(b.Context(), 10*time.Minute)
	defer stop()
	for units := p.Await(wait, b); len(units) != b.N; {
		b.Fatalf("%d units", len(units))
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
