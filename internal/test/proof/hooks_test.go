package proof

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestSimulationOfHooks plays the sessions of the simulation with hooks that refuse, change and
// fail events, among interrupts and crashes. A failure prints the session's seed and the shortest
// script that fails.
func TestSimulationOfHooks(t *testing.T) {
	scripts, seed := rapid.Custom(draw), *firstSeed
	if seed == 0 {
		seed = 1 + rand.IntN(1<<40)
	}
	t.Logf("%d sessions from -seed=%d on", *sessions/2, seed)
	for n := range *sessions / 2 {
		s := hook(scripts.Example(seed+n), seed+n)
		if r := play(t, s); len(r.Problems) > 0 {
			t.Fatalf("-seed=%d -sessions=2\n%s", seed+n, explain(t, s, r.Problems))
		}
	}
}
