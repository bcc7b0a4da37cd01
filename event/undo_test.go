package event

import (
	"testing"

	"pgregory.net/rapid"
)

// TestUndo: after undoing any number of applied events, the state has no trace of them, and they
// can be applied again.
func TestUndo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawSession(t, nil).events
		s := State{}
		for n := 0; n < len(events); {
			end := min(n+rapid.IntRange(1, 5).Draw(t, "batch"), len(events))
			batch := events[n:end:end]
			if rapid.IntRange(0, 3).Draw(t, "odd") == 0 {
				batch = append(batch, drawAnything(t)) // which may be refused
			}
			before := s.Clone()
			undo, after := s.Undo(batch), s
			for _, e := range batch {
				folded, err := Fold(after, next(after, e))
				if err != nil {
					break
				}
				after = folded
			}
			if s = undo(); stateDiff(before, s) != "" {
				t.Fatalf("events %d to %d were taken back (-before +after):\n%s", n+1, end, stateDiff(before, s))
			}
			for _, e := range events[n:end] {
				var err error
				if s, err = Fold(s, e); err != nil {
					t.Fatal(err)
				}
			}
			n = end
		}
		if diff := stateDiff(refold(t, events), s); diff != "" {
			t.Fatalf("the state is not that of the events (-want +got):\n%s", diff)
		}
	})
}
