package proc

import (
	"os"
	"time"
)

// pollDelay is how often the parent is looked for where the system does not
// tell of its end by itself.
const parentPollDelay = 500 * time.Millisecond

// poll calls lost when the parent is another one.
func poll(parent int, lost func(error)) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() { // ends with stop, which waits for it
		defer close(ended)
		tick := time.NewTicker(parentPollDelay)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if os.Getppid() != parent {
				lost(ErrParent)
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
