package proof

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestSimulationOfChildren plays the sessions of the simulation with children in
// the calls: they end while their parent works, while it is idle, with an
// interrupt, with a crash, or with the session. A failure prints the session's seed
// and the shortest script that fails.
func TestSimulationOfChildren(t *testing.T) {
	scripts, seed := rapid.Custom(draw), *firstSeed
	if seed == 0 {
		seed = 1 + rand.IntN(1<<40)
	}
	t.Logf("%d sessions from -seed=%d on", *sessions/2, seed)
	for n := range *sessions / 2 {
		s := adopt(scripts.Example(seed+n), uint64(seed+n))
		if r := play(t, s); len(r.Problems) > 0 {
			t.Fatalf("-seed=%d -sessions=2\n%s", seed+n, explain(t, s, r.Problems))
		}
	}
}

// adopt has the calls of a script start children, beside what they do.
func adopt(s Script, seed uint64) Script {
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // it is to be the same again
	step := func() Step {
		return Step{Kind: []StepKind{Child, Child, Await}[r.IntN(3)], For: []time.Duration{time.Millisecond, time.Second, 10 * time.Second, 5 * time.Minute}[r.IntN(4)]}
	}
	// How room is made is simulated without children.
	s.Window, s.Compact, s.Holds, s.Ends = 0, "", Holds{}, nil
	s.Responses = slices.Clone(s.Responses)
	for n, response := range s.Responses {
		items := slices.Clone(response.Items)
		for i, item := range items {
			if item.Kind == Call {
				items[i].Plan = slices.Insert(slices.Clone(item.Plan), r.IntN(len(item.Plan)+1), step())
			}
		}
		if r.IntN(3) == 0 {
			items = append(items, Item{Kind: Call, Plan: Plan{step()}})
		}
		s.Responses[n].Items = items
	}
	return s
}
