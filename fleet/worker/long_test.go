package worker

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// Of BenchmarkLongTurns: how many calls a turn has, how many pieces of text come before
// each, how long one takes to come, and how long a call's output is.
const (
	longCalls  = 20
	longPieces = 40
	longDelay  = 5 * time.Millisecond
	longOutput = 4 << 10
)

// writer is a model that writes as it streams, and asks for one call after the other.
type writer struct{}

// Stream implements [model.Provider].
func (writer) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	made := 0
	for _, i := range r.Input {
		if i.Role == model.Output {
			made++
		}
	}
	var steps []script.Step
	for range longPieces {
		steps = append(steps, script.Delay(longDelay), script.Text("some words of an answer, "))
	}
	if made < longCalls {
		steps = append(steps, script.CallID(fmt.Sprintf("call_%d", made), "work", "{}"))
	}
	return script.New(script.Turn(steps...)).Stream(ctx, r)
}

// BenchmarkLongTurns runs turns as coding agents have them, 64 at a time in one worker:
// what they take of the database, and of the processors of the machine, with Postgres.
func BenchmarkLongTurns(b *testing.B) {
	p := newPlace(b)
	dir := b.TempDir()
	work, err := tool.New("work", "Works.", func(context.Context, struct{}) (string, error) {
		return strings.Repeat("a line of output, and another word\n", longOutput/35), nil
	})
	if err != nil {
		b.Fatal(err)
	}
	tasks := make([]fleet.Task, b.N)
	for n := range tasks {
		tasks[n] = fleet.Task{Session: fmt.Sprint("s", n), Input: "1", Prompt: "work"}
	}
	p.Submit(b, tasks...)
	size, wal, busy := resources(b, p)
	b.ResetTimer()
	stop := start(
		b,
		Config{
			ID:     "w",
			Engine: p.Engine,
			Logs:   p.Logs,
			Slots:  64,
			Logger: slog.New(slog.DiscardHandler),
			Session: func(context.Context, fleet.Attempt) (settle.SessionConfig, error) {
				return settle.SessionConfig{
					Model: model.Config{
						Provider:     writer{},
						ProviderName: "test",
						Name:         "test",
					}, Permission: settle.Allow, WorkDir: dir, Tools: []tool.Tool{work},
				}, nil
			},
		},
	)
	wait, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
	defer cancel()
	p.Await(wait, b)
	b.StopTimer()
	stop()
	sizeAfter, walAfter, busyAfter := resources(b, p)
	per := func(n float64) float64 { return n / float64(b.N) }
	b.ReportMetric(per(sizeAfter-size)/1e3, "kB/turn")
	b.ReportMetric(per(walAfter-wal)/1e3, "wal-kB/turn")
	b.ReportMetric(per(busyAfter-busy)*1e3, "cpu-ms/turn")
	b.ReportMetric(per(float64(p.Logs.Commits())), "log-tx/turn")
}

// resources returns the sizes of the database and of its write-ahead log, in bytes, and the
// time that the machine's processors were busy, in seconds.
func resources(b *testing.B, p *fleettest.Place) (size, wal, busy float64) {
	b.Helper()
	if err := p.Pool.QueryRow(b.Context(), `SELECT pg_database_size(current_database()), pg_current_wal_lsn() - '0/0'`).Scan(&size, &wal); err != nil {
		b.Fatal(err)
	}
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return size, wal, 0 // only Linux says it
	}
	var user, nice, system float64
	if _, err := fmt.Sscanf(string(stat), "cpu %f %f %f", &user, &nice, &system); err != nil {
		b.Fatal(err)
	}
	const ticks = 100 // in a second
	return size, wal, (user + nice + system) / ticks
}
