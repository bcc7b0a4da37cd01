//go:build unix && !linux

package proc

import (
	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/event"
)

// groupMembers names the group only: the system does not list its members.
func groupMembers(group int, _, why string) []event.Process {
	if !groupExists(group) {
		return nil
	}
	return []event.Process{{PID: group, Command: "process group", Why: why}}
}

// signalMarked does nothing: the environments of other processes are unreadable here.
func signalMarked(string, int, unix.Signal) {}
