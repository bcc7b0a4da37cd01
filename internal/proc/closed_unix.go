//go:build unix

package proc

import (
	"os"
	"syscall"
)

// Closed calls lost when the file has no reader any more: a closed pipe or terminal. The
// returned function ends the watch and waits for its goroutine.
func Closed(f *os.File, lost func(error)) (stop func()) {
	if stop := waitClosed(int(f.Fd()), 0, func() { lost(syscall.EPIPE) }); stop != nil {
		return stop
	}
	return func() {} // the next write fails
}
