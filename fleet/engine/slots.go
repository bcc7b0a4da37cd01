package engine

import (
	"context"
	"sync"

	"go.temporal.io/sdk/worker"
)

// slots are the slots of a worker's turns. The SDK reserves one for each poll, and releases it when the activity's
// function returns. A turn that still runs then keeps the slot:
//
//	free ─ ReserveSlot ─► of a poll or a claim ─ keep, ReleaseSlot ─► of a turn ─ release ─► free
//	                                └──────────── ReleaseSlot ────────────────────────────────►
type slots struct {
	free chan struct{} // has a value for each free slot

	mu        sync.Mutex
	turnSlots int // number of coming releases by the SDK whose slots turns keep
}

func newSlots(n int) *slots {
	s := &slots{free: make(chan struct{}, n)}
	for range n {
		s.free <- struct{}{} // has room
	}
	return s
}

// keep has one release of a slot by the SDK leave the slot to a turn, which calls release.
func (s *slots) keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turnSlots++
}

// release frees a slot.
func (s *slots) release() { s.free <- struct{}{} } // has room for each slot

// ReserveSlot implements [worker.SlotSupplier].
func (s *slots) ReserveSlot(ctx context.Context, _ worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	select {
	case <-s.free:
		return &worker.SlotPermit{}, nil
	case <-ctx.Done():
		return nil, ctx.Err() // as the SDK demands
	}
}

// TryReserveSlot implements [worker.SlotSupplier].
func (s *slots) TryReserveSlot(worker.SlotReservationInfo) *worker.SlotPermit {
	select {
	case <-s.free:
		return &worker.SlotPermit{}
	default:
		return nil
	}
}

// MarkSlotUsed implements [worker.SlotSupplier].
func (s *slots) MarkSlotUsed(worker.SlotMarkUsedInfo) {}

// ReleaseSlot implements [worker.SlotSupplier]. Which activity releases the slot makes no difference: only the
// number of the slots that turns keep counts.
func (s *slots) ReleaseSlot(worker.SlotReleaseInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turnSlots > 0 {
		s.turnSlots--
		return
	}
	s.release()
}

// MaxSlots implements [worker.SlotSupplier].
func (s *slots) MaxSlots() int { return cap(s.free) }

// tuner is another tuner, apart from the slots of activities.
type tuner struct {
	worker.WorkerTuner
	turns *slots
}

// GetActivityTaskSlotSupplier implements [worker.WorkerTuner].
func (t tuner) GetActivityTaskSlotSupplier() worker.SlotSupplier { return t.turns }
