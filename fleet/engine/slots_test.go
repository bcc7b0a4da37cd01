package engine

import (
	"context"
	"errors"
	"testing"
)

// A turn keeps its slot after the SDK has released it, also if the turn ends first.
func TestSlotsAreKeptByTurns(t *testing.T) {
	for _, turnFirst := range []bool{false, true} {
		s := newSlots(2)
		for range 2 {
			if _, err := s.ReserveSlot(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		s.keep()
		if turnFirst {
			s.release()
			s.ReleaseSlot(nil)
		} else {
			s.ReleaseSlot(nil)
			if s.TryReserveSlot(nil) != nil {
				t.Error("the slot of a turn that runs was reserved")
			}
			s.release()
		}
		if s.TryReserveSlot(nil) == nil || s.TryReserveSlot(nil) != nil {
			t.Error("want one free slot")
		}
		s.ReleaseSlot(nil)
		s.ReleaseSlot(nil)
		if free := len(s.free); free != s.MaxSlots() {
			t.Errorf("%d free slots at the end; want %d", free, s.MaxSlots())
		}
	}
}

func TestSlotsEndWaitsWithTheirContext(t *testing.T) {
	s := newSlots(0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.ReserveSlot(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
