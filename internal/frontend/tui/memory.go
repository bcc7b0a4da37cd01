package tui

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// memoryDelay is the idle time after which unused memory is returned to the system.
	memoryDelay = time.Second
	// maxUnused is the unused memory that is kept, in bytes: returning less is not worth the time.
	maxUnused = 4 << 20
)

// freeMemoryLater gives the memory back that a turn, or the opening of a long session,
// has needed for a time, once nothing runs.
func (u *UI) freeMemoryLater() {
	if u.memoryTimer != nil {
		u.memoryTimer.Stop()
	}
	if u.FreeMemory != nil {
		u.memoryTimer = time.AfterFunc(memoryDelay, u.FreeMemory)
	}
}

// FreeMemory gives memory back that nothing needs, if it is much. Go's own way
// takes minutes.
func FreeMemory() {
	if unusedMemory() > maxUnused {
		debug.FreeOSMemory()
	}
}

// unusedMemory returns how much memory is unused, in bytes: free memory, and garbage that the next
// collection frees.
func unusedMemory() uint64 {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/gc/heap/live:bytes"},
	}
	metrics.Read(samples)
	value := func(n int) uint64 {
		if samples[n].Value.Kind() != metrics.KindUint64 {
			return 0
		}
		return samples[n].Value.Uint64()
	}
	sum := value(0) + value(1)
	if objects, live := value(2), value(3); objects > live {
		sum += objects - live
	}
	return sum
}
