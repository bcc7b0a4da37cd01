package transcript_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// An input that joined a turn stands before the model's response to it. Discarded items are left
// out.
func TestEntries(t *testing.T) {
	turn := &event.Turn{
		Inputs: []event.Input{{ID: "n1"}},
		Attempts: []*event.Attempt{
			{
				ID: "a1",
			}, {ID: "a2", Inputs: []event.Input{{ID: "n2"}}}, {ID: "a3"}, {ID: "a4", Inputs: []event.Input{{ID: "n3"}}},
		},
		Items: []*event.Item{
			{ID: "i1", Attempt: "a1"},
			{ID: "i2", Attempt: "a1", Discarded: true},
			{ID: "note"},
			{ID: "i3", Attempt: "a3"},
		},
	}
	all := func(most int) (got []string) {
		for e := range transcript.Entries(turn) {
			if len(got) == most {
				break
			}
			if e.Input != nil {
				got = append(got, e.Input.ID)
			} else {
				got = append(got, e.Item.ID)
			}
		}
		return got
	}
	want := []string{"n1", "i1", "note", "n2", "i3", "n3"}
	for most := range len(want) + 1 {
		if diff := cmp.Diff(want[:most], all(most), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%d (-want +got):\n%s", most, diff)
		}
	}
}
