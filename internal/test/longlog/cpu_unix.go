//go:build unix

package longlog

import (
	"syscall"
	"time"
)

// CPU returns the CPU time of the process so far, which other processes do not affect much.
func CPU() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
