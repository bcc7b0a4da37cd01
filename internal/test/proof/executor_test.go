package proof

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/settle-agent/settle/event"
)

// TestSimulationOfExecutor plays the sessions of the simulation with calls that work on
// another machine: over a connection that is slow, that breaks and comes back, or that
// brings everything twice; with an executor that dies, or that nobody can reach for longer
// than the lease. A failure prints the session's seed and the shortest script that
// fails.
func TestSimulationOfExecutor(t *testing.T) {
	scripts, seed := rapid.Custom(draw), *firstSeed
	if seed == 0 {
		seed = 1 + rand.IntN(1<<40)
	}
	t.Logf("%d sessions from -seed=%d on", *sessions/2, seed)
	var lost, told int
	for n := range *sessions / 2 {
		s := handOver(scripts.Example(seed+n), uint64(seed+n))
		r := play(t, s)
		if len(r.Problems) > 0 {
			t.Fatalf("-seed=%d -sessions=2\n%s", seed+n, explain(t, s, r.Problems))
		}
		if slices.ContainsFunc(r.Events, func(e event.Event) bool {
			d, ok := e.Data.(event.ItemEnded)
			return ok && d.Cause != nil && d.Cause.Reason == event.MachineLost && d.Effects == event.EffectsUnknown
		}) {
			lost++
		}
		if slices.ContainsFunc(
			r.Events,
			func(e event.Event) bool { d, _ := e.Data.(event.ItemDelta); return d.Notice },
		) {
			told++
		}
	}
	t.Logf("nobody knew what became of a call in %d sessions, and people were told of the connection in %d", lost, told)
	if *firstSeed == 1 && *sessions >= 300 && (lost == 0 || told == 0) { // the same each time
		t.Error("that proves nothing of executors")
	}
}
