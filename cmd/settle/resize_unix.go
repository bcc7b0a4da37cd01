//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// resizes says when the terminal has another size. The returned function ends
// that.
func resizes() (resized <-chan struct{}, stop func()) {
	caught, out, done := make(chan os.Signal, 1), make(chan struct{}, 1), make(chan struct{})
	signal.Notify(caught, syscall.SIGWINCH)
	go func() { // ends with stop
		for {
			select {
			case <-caught:
				select {
				case out <- struct{}{}:
				default: // it has not been looked at yet
				}
			case <-done:
				return
			}
		}
	}()
	return out, func() {
		signal.Stop(caught)
		close(done)
	}
}
