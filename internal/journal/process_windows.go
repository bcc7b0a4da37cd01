package journal

import (
	"os"

	"golang.org/x/sys/windows"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
)

// askToEnd does nothing: Windows cannot ask a process without a window.
func askToEnd(*event.Identity) error { return nil }

func forceToEnd(p *event.Identity) error { return proc.Signal(p, os.Kill) }

// isAlive reports whether the process exists.
func isAlive(pid int) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return false
	}
	defer func() { _ = windows.CloseHandle(h) }()
	var code uint32
	const stillActive = 259
	return windows.GetExitCodeProcess(h, &code) == nil && code == stillActive
}

// IsStopped reports false: Windows has no such state.
func IsStopped(int) bool { return false }
