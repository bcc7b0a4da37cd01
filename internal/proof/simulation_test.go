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
)

var (
	sessions  = flag.Int("sessions", 300, "how many sessions the simulation plays")
	firstSeed = flag.Int("seed", 0, "seed of the first session, each further one has the next; 0 draws it")
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
	t.Logf("%d sessions from -seed=%d on", *sessions, seed)
	var next, events atomic.Int64
	t.Run("shards", func(t *testing.T) {
		for shard := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				for n := next.Add(1); n <= int64(*sessions) && !t.Failed(); n = next.Add(1) {
					s := scripts.Example(seed + int(n) - 1)
					r := play(t, s)
					events.Add(int64(len(r.Events)))
					if len(r.Problems) > 0 {
						t.Errorf("-seed=%d -sessions=1\n%s", seed+int(n)-1, explain(t, s, r.Problems))
					}
				}
			})
		}
	})
	t.Logf("%d events", events.Load())
}

// play plays a script in a bubble of its own. What is left running when it is
// over shows as a deadlock of the bubble.
func play(t *testing.T, s Script) (r Report) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			r.Problems = append(r.Problems, fmt.Sprintf("C9: left running, or panicked: %v", p))
		}
	}()
	synctest.Test(t, func(*testing.T) { r = Play(s) })
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
