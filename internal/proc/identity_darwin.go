package proc

import "golang.org/x/sys/unix"

// startOf returns when a process started, in microseconds since 1970.
func startOf(pid int) (started uint64, ok bool) {
	const zombie = 5 // SZOMB in <sys/proc.h>
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid || info.Proc.P_stat == zombie {
		return 0, false
	}
	at := info.Proc.P_starttime
	return uint64(at.Sec)*1_000_000 + uint64(at.Usec), true
}

func bootOf() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid")
	return id
}

func namespace() string { return "" }
