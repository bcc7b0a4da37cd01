//go:build unix

package longlog

import (
	"syscall"
	"time"
)

// CPU returns what the process has used so far, which other processes do not
// slow down.
func CPU() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
