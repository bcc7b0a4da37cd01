package proof

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

var everyPanic = flag.Bool("every-panic", false, "panic at each event in each place, not in one place at each event")

// TestPanicAtEveryEvent: if a tool, a provider, an observer, a hook, a judge, a callback or a
// frontend panics at any event of the log, the host lives on, the contract holds, and the next
// prompt is answered.
func TestPanicAtEveryEvent(t *testing.T) {
	var mu sync.Mutex
	fired, list := map[place]int{}, turns(t)
	t.Run("turns", func(t *testing.T) {
		for n, name := range slices.Sorted(maps.Keys(list)) {
			s := list[name]
			s.Wire = Wires()[n%len(Wires())]
			if n%3 == 0 {
				s.Hooks = n + 1
			}
			if n%3 == 1 {
				s.Ask = true
			}
			s.Readers = append(slices.Clone(s.Readers), Reader{Leaves: 3})
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for at, whole := 2, 3; at < whole; at++ {
					for k, where := range places() {
						if !*everyPanic && (at+n)%len(places()) != k {
							continue
						}
						if at > 2 && (at+n)%*every != 0 && where != inCommand { // few scripts have commands
							continue
						}
						events, did := panicAt(t, s, &bomb{place: where, at: at})
						whole = max(whole, events)
						mu.Lock()
						fired[where] += did
						mu.Unlock()
					}
				}
			})
		}
	})
	for _, where := range places() {
		if fired[where] == 0 {
			t.Errorf("nothing panicked in a %s", where)
		}
	}
	t.Logf("panics: %v", fired)
}

// panicAt plays the script with the bomb, and returns how many events the log had
// then, and 1 if it went off.
func panicAt(t *testing.T, s Script, b *bomb) (events, fired int) {
	t.Helper()
	s.Ends = nil
	what := fmt.Sprintf("a panic in a %s from event %d on", b.place, b.at)
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s: left running, or panicked: %v\n%s", what, r, s)
		}
	}()
	var problems []string
	synctest.Test(t, func(*testing.T) {
		w := newWorld(s, nil)
		w.bomb = b
		w.play()
		w.verdict()
		events = w.disk.len()
		if b.fired.Swap(true) { // a runner of hooks that was left behind still looks at the bomb
			fired = 1
		}
		problems = w.report().Problems
	})
	if len(problems) > 0 {
		t.Errorf("%s:\n%s\n%s", what, strings.Join(problems[:min(len(problems), 5)], "\n"), s)
	}
	return events, fired
}

// TestPanicInDrawnSessions: the same in sessions that are drawn, with children, an executor or
// hooks, with a drawn place and time of the panic.
func TestPanicInDrawnSessions(t *testing.T) {
	seed := *firstSeed
	if seed == 0 {
		seed = 1 + rand.IntN(1<<40)
	}
	count := *sessions / 10
	t.Logf("%d sessions from -seed=%d on", count, seed)
	var next, fired atomic.Int64
	t.Run("shards", func(t *testing.T) {
		for shard := range shards() {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				for n := next.Add(1); n <= int64(count) && !t.Failed(); n = next.Add(1) {
					seed := seed + int(n) - 1
					drawn := rand.New(rand.NewPCG(uint64(seed), 0)) // any number is a seed
					b := &bomb{place: places()[drawn.IntN(len(places()))], at: 2 + drawn.IntN(40)}
					s := Draw(seed)
					s.Readers = append(s.Readers, Reader{Leaves: 3})
					if _, did := panicAt(t, s, b); did > 0 {
						fired.Add(1)
					}
					if t.Failed() {
						t.Errorf("-seed=%d -sessions=10", seed)
					}
				}
			})
		}
	})
	t.Logf("%d panics", fired.Load())
	if count > 50 && fired.Load() == 0 {
		t.Error("nothing panicked")
	}
}
