package proof

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/internal/test/shake"
)

var (
	sessions  = flag.Int("sessions", 300, "how many sessions the simulation plays")
	firstSeed = flag.Int("seed", 1, "seed of the first session, each further one has the next; 0 draws it")
	schedules = flag.Int(
		"schedules", 1,
		"under how many schedules each session is played; more than one needs the overlay of internal/test/shake",
	)
	schedule  = flag.Int("schedule", 0, "number of the first schedule")
	shrinkFor = flag.Duration("shrink", 30*time.Second, "how long a failure may take to be made short")
)

// TestSimulation plays whole sessions that were drawn at random, and holds the
// contract against each. A failure prints the session's seed, for -seed, and
// the shortest script that fails, to be pasted into finds_test.go.
func TestSimulation(t *testing.T) {
	scripts, seed := rapid.Custom(draw), *firstSeed
	if seed == 0 {
		seed = 1 + rand.IntN(1<<40)
	}
	t.Logf("%d sessions from -seed=%d on, shaken: %t", *sessions, seed, shake.On)
	var next, events atomic.Int64
	t.Run("shards", func(t *testing.T) {
		for shard := range shards() {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				for n := next.Add(1); n <= int64(*sessions) && !t.Failed(); n = next.Add(1) {
					seed := seed + int(n) - 1
					s := scripts.Example(seed)
					for k := *schedule; k < *schedule+*schedules && !t.Failed(); k++ {
						shake.Seed(uint64(seed)<<16 + uint64(k)) // any number is a seed
						r := play(t, s)
						events.Add(int64(len(r.Events)))
						if len(r.Problems) > 0 {
							t.Errorf("-seed=%d -sessions=1 -schedule=%d\n%s", seed, k, explain(t, s, r.Problems))
						}
					}
				}
			})
		}
	})
	t.Logf("%d events", events.Load())
}

// shards returns how many sessions are played at a time: a schedule is one
// session's.
func shards() int {
	if shake.On {
		return 1
	}
	return runtime.GOMAXPROCS(0)
}

// play plays a script in a bubble of its own. Goroutines that still run at the end show as a
// deadlock of the bubble.
func play(t *testing.T, s Script) (r Report) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			r.Problems = append(r.Problems, fmt.Sprintf("C9: left running, or panicked: %v", p))
		}
	}()
	synctest.Test(t, func(*testing.T) {
		r = Play(s)
		if shake.On {
			time.Sleep(shakeMargin) // who gives way as the last thing it does is done
		}
	})
	r.Problems = append(r.Problems, clienttest.CheckChanges(r.Events)...)
	return r
}

// explain returns the problems, and the shortest script that has one of them.
func explain(t *testing.T, s Script, problems []string) string {
	t.Helper()
	clause, _, _ := strings.Cut(problems[0], ":")
	short := shrink(s, *shrinkFor, func(candidate Script) bool {
		for range 4 { // goroutines do not run in the same order each time
			for _, p := range play(t, candidate).Problems {
				if strings.HasPrefix(p, clause+":") {
					return true
				}
			}
		}
		return false
	})
	if len(problems) > 5 {
		problems = append(problems[:5:5], "…")
	}
	return fmt.Sprintf("%s\n\nshrunk to:\n%s\n", strings.Join(problems, "\n"), short)
}
