package journal

import (
	"os"

	"golang.org/x/sys/windows"
)

// askToEnd does nothing: Windows has no way to ask a process without a window.
func askToEnd(*os.Process) error { return nil }

func forceToEnd(p *os.Process) error { return p.Kill() }

// isAlive reports whether there is such a process.
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

// isStopped reports false: Windows has no such state.
func isStopped(int) bool { return false }
