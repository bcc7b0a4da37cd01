package proof

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/turn"
)

// adopt makes the calls of a script also start children.
func adopt(s Script, seed uint64) Script {
	r := rand.New(rand.NewPCG(seed, 1)) // it is to be the same again
	step := func() Step {
		return Step{
			Kind: []StepKind{Child, Child, Await}[r.IntN(3)],
			For:  []time.Duration{time.Millisecond, time.Second, 10 * time.Second, 5 * time.Minute}[r.IntN(4)],
		}
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
			s.Answers = append(
				s.Answers,
				Answer{
					After:   []time.Duration{0, time.Second, time.Minute}[r.IntN(3)],
					Verdict: verdicts[r.IntN(len(verdicts))],
				},
			)
		}
		s.Answers = append(s.Answers, Answer{After: time.Second, Verdict: event.Approved})
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

// handOver makes the calls of a script also work on another machine.
func handOver(s Script, seed uint64) Script {
	r := rand.New(rand.NewPCG(seed, 2)) // it is to be the same again
	step := func() Step {
		kinds := []StepKind{Remote, Slow, HostDies, Back, Back, Twice, Twice, Unreachable}
		return Step{
			Kind: kinds[r.IntN(len(kinds))],
			For:  []time.Duration{time.Millisecond, time.Second, 10 * time.Second, 20 * time.Minute}[r.IntN(4)],
		}
	}
	s.Ends = nil // they may end otherwise
	if r.IntN(4) == 0 {
		s.Moves = append(slices.Clone(s.Moves), Move{Do: Crash, After: time.Duration(1+r.IntN(8)) * time.Second})
	}
	s.Responses = slices.Clone(s.Responses)
	for n, response := range s.Responses {
		items := slices.Clone(response.Items)
		for i, item := range items {
			if item.Kind == Call {
				items[i].Plan = slices.Insert(slices.Clone(item.Plan), r.IntN(len(item.Plan)+1), step())
			}
		}
		for range r.IntN(3) {
			items = append(items, Item{Kind: Call, Plan: Plan{step()}})
		}
		s.Responses[n].Items = items
	}
	return s
}
