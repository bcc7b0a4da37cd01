package proc

import (
	"os"
	"time"
)

// parentPollDelay is the pause between two checks of the parent, where the system reports no
// event.
const parentPollDelay = 500 * time.Millisecond

// poll calls lost when the parent has changed.
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
