package proof

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/settle-agent/settle/event"
)

// TestSimulationOfChildren plays the sessions of the simulation with children in
// the calls: they end while their parent works, while it is idle or stalls, while its
// history is compacted, with an interrupt, with a crash, or with the session; and where
// all calls are asked about, they ask. A failure prints the session's seed and the
// shortest script that fails.
func TestSimulationOfChildren(t *testing.T) {
	scripts, seed := rapid.Custom(draw), *firstSeed
	if seed == 0 {
		seed = 1 + rand.IntN(1<<40)
	}
	t.Logf("%d sessions from -seed=%d on", *sessions/2, seed)
	var together, asked int
	for n := range *sessions / 2 {
		s := adopt(scripts.Example(seed+n), uint64(seed+n))
		if r := play(t, s); len(r.Problems) > 0 {
			t.Fatalf("-seed=%d -sessions=2\n%s", seed+n, explain(t, s, r.Problems))
		} else if compacted, asks := during(r.Events); compacted || asks {
			together += map[bool]int{true: 1}[compacted]
			asked += map[bool]int{true: 1}[asks]
		}
	}
	t.Logf(
		"a history was compacted while a child ran in %d sessions, and a child in the background asked in %d", together,
		asked,
	)
	if *firstSeed == 1 && *sessions >= 300 && (together == 0 || asked == 0) { // the same each time
		t.Error("that proves nothing of what is played")
	}
}

// during reports whether a history was compacted while a child ran, and whether a child
// in the background asked.
func during(events []event.Event) (compacted, asked bool) {
	running := 0
	for _, e := range events {
		switch d := e.Data.(type) {
		case event.ChildStarted:
			running++
		case event.ChildEnded:
			running--
		case event.HistoryChanged:
			compacted = compacted || d.Change == event.ChangeCompacted && running > 0
		case event.ApprovalRequested:
			asked = asked || d.Child != "" && e.Turn == ""
		}
	}
	return compacted, asked
}
