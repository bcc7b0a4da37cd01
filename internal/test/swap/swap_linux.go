package swap

import (
	"flag"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

var times = flag.Int("swap-times", 1, "how many times as many calls are made while names are swapped")

// Calls returns the number of calls that a test makes while names are swapped, if it makes n by
// default.
func Calls(n int) int { return n * *times }

// Swapper exchanges two names until it is stopped.
type Swapper struct {
	name, second string
	rounds       atomic.Int64
	done         chan struct{}
	stopped      sync.WaitGroup
	once         sync.Once
}

// Start begins to exchange the names, which must both exist. The test's end stops it.
func Start(t testing.TB, name, second string) *Swapper {
	t.Helper()
	s := &Swapper{name: name, second: second, done: make(chan struct{})}
	s.stopped.Go(func() { // ends with done; Stop waits
		for {
			select {
			case <-s.done:
				return
			default:
			}
			if s.exchange() == nil {
				s.rounds.Add(1)
			}
		}
	})
	t.Cleanup(s.Stop)
	return s
}

// exchange fails where the code under test has just replaced or removed a name.
func (s *Swapper) exchange() error {
	return unix.Renameat2(unix.AT_FDCWD, s.name, unix.AT_FDCWD, s.second, unix.RENAME_EXCHANGE)
}

// Rounds returns the number of exchanges of the names so far.
func (s *Swapper) Rounds() int64 { return s.rounds.Load() }

// Stop ends the exchange. If both names exist, each has its first target again.
func (s *Swapper) Stop() {
	s.once.Do(func() {
		close(s.done)
		s.stopped.Wait()
		if s.rounds.Load()%2 == 1 {
			_ = s.exchange()
		}
	})
}
