package proc

import (
	"os"
	"strings"
)

// startOf returns the start time of a living process in clock ticks since boot; a zombie has
// ended.
func startOf(pid int) (started uint64, ok bool) {
	n, ok := readProcess(pid)
	return n.started, ok && !n.zombie()
}

func bootOf() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
}

// namespace identifies the pid namespace, which differs between containers.
func namespace() string {
	id, _ := os.Readlink("/proc/self/ns/pid")
	return id
}
