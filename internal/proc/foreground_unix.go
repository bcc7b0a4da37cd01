//go:build unix

package proc

import (
	"os"
	"syscall"
)

// hangup is what asks a program on a terminal to go.
func hangup() os.Signal { return syscall.SIGHUP }
