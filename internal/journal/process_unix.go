//go:build unix

package journal

import (
	"errors"
	"syscall"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
)

// askToEnd sends TERM, and continues a stopped process.
func askToEnd(p *event.Identity) error {
	return errors.Join(proc.Signal(p, syscall.SIGTERM), proc.Signal(p, syscall.SIGCONT))
}

func forceToEnd(p *event.Identity) error { return proc.Signal(p, syscall.SIGKILL) }

// isAlive reports whether the process exists.
func isAlive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
