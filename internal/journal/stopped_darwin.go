package journal

import "golang.org/x/sys/unix"

// IsStopped reports whether the process is stopped, by a signal or a debugger.
func IsStopped(pid int) bool {
	const stop = 4 // SSTOP in <sys/proc.h>
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err == nil && info.Proc.P_stat == stop
}
