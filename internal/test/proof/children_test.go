package proof

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/turn"
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
	t.Logf("a history was compacted while a child ran in %d sessions, and a child in the background asked in %d", together, asked)
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

// adopt has the calls of a script start children, beside what they do.
func adopt(s Script, seed uint64) Script {
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // it is to be the same again
	step := func() Step {
		return Step{Kind: []StepKind{Child, Child, Await}[r.IntN(3)], For: []time.Duration{time.Millisecond, time.Second, 10 * time.Second, 5 * time.Minute}[r.IntN(4)]}
	}
	s.Ends = nil // they may end otherwise
	s.Responses = slices.Clone(s.Responses)
	if r.IntN(3) == 0 {
		s.Window, s.Compact = 4_000, []turn.Compaction{turn.CompactionAuto, turn.CompactionMechanical}[r.IntN(2)]
		fill := Response{Items: []Item{{Kind: Call, Plan: Plan{{Kind: Flood, Bytes: 6_000}}}}}
		s.Responses = slices.Insert(s.Responses, r.IntN(len(s.Responses)+1), fill, fill, fill)
	}
	if r.IntN(3) == 0 {
		s.Ask = true
		verdicts := []event.Verdict{event.Approved, event.ApprovedSession, event.Denied, event.ApprovalAborted, ""}
		for range 4 {
			s.Answers = append(s.Answers, Answer{[]time.Duration{0, time.Second, time.Minute}[r.IntN(3)], verdicts[r.IntN(len(verdicts))]})
		}
		s.Answers = append(s.Answers, Answer{time.Second, event.Approved})
	}
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
