//go:build unix

package terminal

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// maxSelect is the number of descriptors that select(2) supports.
const maxSelect = 1024

// await waits until the terminal or wake has bytes, and then reports false for wake. Where
// the system cannot wait for both, the read itself waits.
func await(in, wake *os.File) (bool, error) {
	a, b := int(in.Fd()), int(wake.Fd())
	if max(a, b) >= maxSelect {
		return true, nil
	}
	for {
		var set unix.FdSet
		set.Set(a)
		set.Set(b)
		_, err := unix.Select(max(a, b)+1, &set, nil, nil, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return true, nil // the read returns the error
		case set.IsSet(b):
			var one [64]byte
			_, err := wake.Read(one[:])
			return false, err
		default:
			return true, nil
		}
	}
}
