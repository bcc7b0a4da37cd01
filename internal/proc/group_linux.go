package proc

import (
	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/event"
)

// groupMembers returns the living processes of a group and the processes with its marker.
// Without /proc it names only the group.
func groupMembers(group int, marker, why string) []event.Process {
	all := allProcesses()
	if len(all) == 0 {
		return groupAlone(group, why)
	}
	var found []node
	for _, n := range withoutZombies(all) {
		value, _ := markerOf(n.pid)
		if n.group == group || value == marker {
			found = append(found, n)
		}
	}
	return describe(found, func(node) string { return why })
}

// signalMarked signals the marked processes outside of the group.
func signalMarked(marker string, group int, sig unix.Signal) {
	for _, n := range withoutZombies(marked(func(value string) bool { return value == marker })) {
		if n.group != group {
			_ = kill(n, sig)
		}
	}
}

func groupAlone(group int, why string) []event.Process {
	if !groupExists(group) {
		return nil
	}
	if why != "" {
		why += ", or dead and not reaped: without /proc that looks the same"
	}
	return []event.Process{{PID: group, Command: "process group", Why: why}}
}
