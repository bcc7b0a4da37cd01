//go:build unix

package journal

import (
	"errors"
	"os"
	"syscall"
)

// askToEnd lets the process end in good order, even if it is stopped.
func askToEnd(p *os.Process) error {
	return errors.Join(p.Signal(syscall.SIGTERM), p.Signal(syscall.SIGCONT))
}

func forceToEnd(p *os.Process) error { return p.Kill() }

// isAlive reports whether there is such a process.
func isAlive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
