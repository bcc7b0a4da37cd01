package proc

import (
	"os"
	"strings"
)

// startOf returns when a process started, in clock ticks since boot. A zombie
// has ended.
func startOf(pid int) (started uint64, ok bool) {
	n, ok := readProcess(pid)
	return n.started, ok && !n.zombie()
}

func bootOf() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
}

// namespace is that of process ids, which containers have of their own.
func namespace() string {
	id, _ := os.Readlink("/proc/self/ns/pid")
	return id
}
