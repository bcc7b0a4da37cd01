//go:build unix

package proc

import (
	"os"
	"syscall"
)

// Closed calls lost when nobody can read the file any more: the reader of a
// pipe is gone, or the terminal. The returned function ends the watch and waits
// for it.
func Closed(f *os.File, lost func(error)) (stop func()) {
	if stop := waitClosed(int(f.Fd()), 0, func() { lost(syscall.EPIPE) }); stop != nil {
		return stop
	}
	return func() {} // the next write will tell
}
