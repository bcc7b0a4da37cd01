//go:build !linux

package proc

import "os"

// Parent calls lost when the process that started this one has ended, if the system reports that.
// The returned function ends the watch and waits for its goroutine.
func Parent(lost func(error)) (stop func()) {
	if parent := os.Getppid(); parent > 1 {
		return poll(parent, lost)
	}
	return func() {}
}
