package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// lockHolder searches /proc for the descriptors that hold the file's lock. /proc/PID/fdinfo
// lists the locks of each, with the process that took them (proc_pid_fdinfo(5)):
//
//	lock:	1: FLOCK  ADVISORY  WRITE 1234 08:02:5513 0 EOF
//
// The descriptors of other users' processes, and of processes that are not dumpable, are
// invisible.
func lockHolder(f *os.File) holder {
	info, err := f.Stat()
	if err != nil {
		return holder{}
	}
	var h holder
	pids, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range pids {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if by, ok := holds(dir, info); ok {
			h.survivors = append(h.survivors, pid)
			h.dead = by
		}
	}
	for _, pid := range h.survivors {
		if pid == h.dead {
			h.pid, h.dead = pid, 0
			break
		}
	}
	return h
}

// holds reports whether the process has a descriptor with the lock, and which process took it.
func holds(dir string, file os.FileInfo) (taker int, ok bool) {
	fds, err := os.ReadDir(dir + "/fd")
	if err != nil {
		return 0, false
	}
	for _, fd := range fds {
		info, err := os.Stat(dir + "/fd/" + fd.Name())
		if err != nil || !os.SameFile(info, file) {
			continue
		}
		detail, err := os.ReadFile(dir + "/fdinfo/" + fd.Name())
		if err != nil {
			continue
		}
		if pid, locked := lockTaker(string(detail)); locked {
			return pid, true
		}
	}
	return 0, false
}

// lockTaker finds the lock in a descriptor's information.
func lockTaker(detail string) (pid int, ok bool) {
	for line := range strings.Lines(detail) {
		f := strings.Fields(line)
		if len(f) >= 6 && f[0] == "lock:" && f[2] == "FLOCK" && f[4] == "WRITE" { // READ only tests the lock
			pid, _ = strconv.Atoi(f[5])
			return pid, true
		}
	}
	return 0, false
}

// IsStopped reports whether a process is stopped, by a signal or a debugger.
func IsStopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// The state follows the name, which is in parentheses and can have any character.
	i := bytes.LastIndexByte(stat, ')')
	return i >= 0 && len(stat) > i+2 && (stat[i+2] == 'T' || stat[i+2] == 't')
}
