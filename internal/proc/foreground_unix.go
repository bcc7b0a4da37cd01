//go:build unix

package proc

import (
	"os"
	"syscall"
)

// hangup is the signal that asks a program on a terminal to end.
func hangup() os.Signal { return syscall.SIGHUP }
