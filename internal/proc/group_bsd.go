//go:build unix && !linux

package proc

import (
	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/event"
)

// groupMembers names the group alone: its members are not to be had.
func groupMembers(group int, _, why string) []event.Process {
	if !groupExists(group) {
		return nil
	}
	return []event.Process{{PID: group, Command: "process group", Why: why}}
}

// signalMarked does nothing: environments of others cannot be read here.
func signalMarked(string, int, unix.Signal) {}
