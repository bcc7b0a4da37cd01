package pglog

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/test/proof"
)

var (
	sessions = flag.Int("sessions", 60, "how many sessions TestSimulation plays")
	seed     = flag.Int("seed", 1, "seed of the first of them, each further one has the next")
	every    = flag.Int(
		"every", 9, "at which events of the catalogue TestEveryIndex lets the host die: every one, every second, …",
	)
)

// TestSimulation: sessions that were drawn at random, some with children, executors or hooks,
// keep the contract with their logs in the database, where hosts die and others go on.
func TestSimulation(t *testing.T) {
	var next, events atomic.Int64
	shards(t, func(t *testing.T, logs *proof.Logs) {
		for n := next.Add(1); n <= int64(*sessions) && !t.Failed(); n = next.Add(1) {
			seed := *seed + int(n) - 1
			s := proof.Draw(seed)
			bubble(t, s, func() proof.Report {
				r := proof.PlayIn(s, logs)
				events.Add(int64(len(r.Events)))
				return r
			})
			if t.Failed() {
				t.Logf("-seed=%d -sessions=1", seed)
			}
		}
	})
	t.Logf("%d sessions, %d events", *sessions, events.Load())
}

// TestEveryIndex: wherever the host of a turn of the catalogue dies, and wherever the next
// one does while it settles that, the one after it opens the log in the database, and the
// next prompt is answered. Nobody appends to a log that another one has opened.
func TestEveryIndex(t *testing.T) {
	turns, err := proof.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(turns))
	var next, died, settling atomic.Int64
	shards(t, func(t *testing.T, logs *proof.Logs) {
		for n := next.Add(1); n <= int64(len(names)); n = next.Add(1) {
			s, wires := turns[names[n-1]], proof.Wires()
			s.Wire = wires[int(n)%len(wires)]
			bubble(t, s, func() proof.Report {
				c, r := proof.PlayCrashes(s, logs, *every)
				died.Add(int64(c.Turns))
				settling.Add(int64(c.Recoveries))
				return r
			})
		}
	})
	t.Logf(
		"%d turns; hosts died %d times in them, and %d times while they settled that",
		len(names),
		died.Load(),
		settling.Load(),
	)
}

// shards runs some at a time, with logs in one database.
func shards(t *testing.T, run func(*testing.T, *proof.Logs)) {
	t.Helper()
	logs, _ := newLogs(t)
	t.Run("shards", func(t *testing.T) {
		for shard := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				all := proof.NewLogs(func(session string) (journal.Store, error) {
					log, err := logs.OpenLog(t.Context(), session)
					return store{log}, err
				})
				defer all.Close()
				run(t, all)
			})
		}
	})
}

// bubble plays a script in a bubble of its own, where everything has to end.
func bubble(t *testing.T, s proof.Script, play func() proof.Report) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("left running, or panicked: %v\n%s", r, s)
		}
	}()
	var problems []string
	synctest.Test(t, func(*testing.T) { problems = play().Problems })
	if len(problems) > 0 {
		t.Errorf("%s\n%s", strings.Join(problems[:min(len(problems), 5)], "\n"), s)
	}
}
