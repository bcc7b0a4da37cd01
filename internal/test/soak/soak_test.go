package soak

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/plan"
)

var steps = flag.Int("steps", 240, "how many steps the session has")

const (
	window  = 32_000
	perTurn = 40 // steps
	blocks  = 6  // in which the session is measured
)

// gauge has the measurements of a block of steps.
type gauge struct {
	between        time.Duration // per step, of settle's own
	bytes, mallocs uint64        // per step
	heap           uint64        // in use after the block
	goroutines     int
	descriptors    int
}

func TestOneLongSession(t *testing.T) {
	dir := t.TempDir()
	m := &mind{every: max(*steps/21, 1), children: 20}
	host, s := open(t, dir, m)
	var measured []gauge
	turns := *steps / perTurn
	for n := range turns {
		input := fmt.Sprintf("input %d: and mind rule %d.", n, n*n)
		m.begin(input, perTurn)
		if o, err := s.Run(t.Context(), input); err != nil || o.Cause.Outcome != event.Completed {
			t.Fatalf("turn %d ended with %v, %v", n, o.Cause, err)
		}
		if (n+1)%max(turns/blocks, 1) == 0 {
			measured = append(measured, m.measure())
		}
	}
	report(t, measured)
	if err := host.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	state := verify(t, dir)
	compactions := 0
	for _, turn := range state.Turns {
		for _, e := range turn.Changes {
			if e.Change == event.ChangeCompacted {
				compactions++
			}
		}
	}
	t.Logf(
		"%d steps in %d turns, %d compactions, %d children with %d requests, %d events", m.steps, turns, compactions,
		m.started, m.answered.Load(), state.Seq,
	)
	if compactions < *steps/30 || m.started != 20 || len(state.Children) != 20 {
		t.Errorf("%d compactions, %d children, %d of them in the log", compactions, m.started, len(state.Children))
	}
	began := time.Now()
	host, s = open(t, dir, m)
	t.Logf("opened again in %v", time.Since(began))
	input := "and at the end, once more"
	m.begin(input, 1)
	if o, err := s.Run(t.Context(), input); err != nil || o.Cause.Outcome != event.Completed {
		t.Errorf("after it was opened again: %v, %v", o.Cause, err)
	}
	t.Logf("answered after %v", time.Since(began))
	if err := host.Close(context.Background()); err != nil {
		t.Error(err)
	}
	for _, missing := range m.missing {
		t.Error("a request lacks, ", missing)
	}
}

func open(t *testing.T, dir string, m *mind) (*settle.Host, *settle.Session) {
	t.Helper()
	host, err := settle.Open(t.Context(), settle.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s, err := host.Session(t.Context(), "long", settle.SessionConfig{
		WorkDir: dir, Permission: settle.Allow, Compaction: settle.CompactionAuto, Tools: []tool.Tool{work{}, plan.New()},
		Tasks: &settle.Tasks{}, Model: model.Config{Provider: m, ProviderName: "mind", Name: "m", Traits: model.Traits{Window: window}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return host, s
}

// verify checks the session and its child sessions against the contract.
func verify(t *testing.T, dir string) event.State {
	t.Helper()
	store := settle.Store{Dir: dir}
	list, err := store.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range list {
		var events []event.Event
		for e, err := range store.Events(t.Context(), info.ID, 0) {
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, e)
		}
		if err := contract.Check(events); err != nil {
			t.Errorf("session %s: %v", info.ID, err)
		}
	}
	state, err := store.State("long")
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// measure returns the measurements of the steps since its last call.
func (m *mind) measure() gauge {
	m.mu.Lock()
	defer m.mu.Unlock()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	g := gauge{between: m.between, bytes: mem.TotalAlloc, mallocs: mem.Mallocs, goroutines: runtime.NumGoroutine()}
	if list, err := os.ReadDir("/proc/self/fd"); err == nil {
		g.descriptors = len(list)
	}
	runtime.GC()
	runtime.ReadMemStats(&mem)
	g.heap = mem.HeapAlloc
	return g
}

// report logs the measurements of each block. It fails if a step of the last block allocates more
// than twice the bytes of a step of the second block, or in more than three times as many pieces,
// or if 40 goroutines or descriptors more are open. Each compaction makes a few allocations for
// each earlier request; the texts of these requests are not read again.
func report(t *testing.T, totals []gauge) {
	t.Helper()
	n := *steps / perTurn / blocks * perTurn
	per := make([]gauge, len(totals))
	for i, g := range totals {
		before := gauge{}
		if i > 0 {
			before = totals[i-1]
		}
		per[i] = gauge{
			between: (g.between - before.between) / time.Duration(n), bytes: (g.bytes - before.bytes) / uint64(n),
			mallocs: (g.mallocs - before.mallocs) / uint64(
				n,
			), heap: g.heap, goroutines: g.goroutines, descriptors: g.descriptors,
		}
		t.Logf(
			"to step %5d: %8v, %7d bytes and %5d allocations per step; heap %.1f MB, %d goroutines, %d descriptors",
			(i+1)*n, per[i].between.Round(time.Microsecond), per[i].bytes, per[i].mallocs, float64(g.heap)/1e6,
			g.goroutines, g.descriptors,
		)
	}
	first, last := per[1], per[len(per)-1]
	if last.bytes > 2*first.bytes || last.mallocs > 3*first.mallocs {
		t.Errorf(
			"a step allocates %d bytes in %d pieces at the end, and %d in %d at the beginning", last.bytes,
			last.mallocs, first.bytes, first.mallocs,
		)
	}
	if last.goroutines > first.goroutines+40 || last.descriptors > first.descriptors+40 {
		t.Errorf(
			"%d goroutines and %d descriptors at the end, %d and %d at the beginning", last.goroutines,
			last.descriptors, first.goroutines, first.descriptors,
		)
	}
}
