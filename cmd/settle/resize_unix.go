//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// resizes reports changes of the terminal's size until stop is called.
func resizes() (resized <-chan struct{}, stop func()) {
	caught, out, done := make(chan os.Signal, 1), make(chan struct{}, 1), make(chan struct{})
	signal.Notify(caught, syscall.SIGWINCH)
	go func() { // ends with stop
		for {
			select {
			case <-caught:
				select {
				case out <- struct{}{}:
				default: // a report waits already
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
