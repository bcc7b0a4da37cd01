package shake

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Schedule decides at each point whether the goroutine yields. A seed fixes the decisions; the Go
// scheduler decides which goroutine comes to a point first.
type Schedule struct {
	state atomic.Uint64 // of the generator
	rate  atomic.Uint32 // how many points of 256 give way
	waits atomic.Bool   // also for virtual time
}

// schedule is the schedule of the process: a point has no parameter that could name one.
var schedule Schedule

// Seed starts a new schedule. Some give way often, some rarely. Virtual time
// passes at points, nanoseconds each time, which the test must allow for.
func Seed(seed uint64) {
	schedule.seed(seed)
	schedule.waits.Store(true)
}

func (s *Schedule) seed(seed uint64) {
	s.state.Store(seed)
	rates := [...]uint32{4, 12, 32, 96, 160}
	s.rate.Store(rates[s.next()%uint64(len(rates))])
}

// next returns the next number of the generator (splitmix64, by S. Vigna).
func (s *Schedule) next() uint64 {
	z := s.state.Add(0x9e3779b97f4a7c15)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Point lets other goroutines run, or not.
func Point() { schedule.point() }

func (s *Schedule) point() {
	rate := s.rate.Load()
	if rate == 0 {
		s.seed(first)
		return
	}
	n := s.next()
	if n&255 >= uint64(rate) {
		return
	}
	n >>= 8
	switch pause := n >> 2 & 63; {
	case n&3 == 0 || !s.waits.Load() || locked():
		for range pause%4 + 1 {
			runtime.Gosched()
		}
	default:
		// Under virtual time, all other goroutines run before this one continues: time
		// passes only when no goroutine can run.
		time.Sleep(time.Duration(pause + 1))
	}
}

// locked reports whether the goroutine holds a lock. A goroutine that waits for a lock
// keeps virtual time from passing, so a holder that sleeps would sleep for ever.
func locked() bool {
	var pcs [64]uintptr
	n := runtime.Callers(4, pcs[:]) // beyond Callers, locked, point and Point
	if n == len(pcs) {
		return true // too deep to tell
	}
	for _, pc := range pcs[:n] {
		if holds.at(pc) {
			return true
		}
	}
	return false
}
