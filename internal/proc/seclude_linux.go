package proc

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Seclude keeps other processes of the same user out of this one: its memory,
// its environment, its descriptors (PR_SET_DUMPABLE, ptrace(2)). It leaves no
// core dump, either. Who has CAP_SYS_PTRACE, as root mostly has, gets in all the
// same. What this process executes is as any other.
//
// From here on its files in /proc belong to root: it may still follow its own
// links there, such as /proc/self/exe, but not write to them.
func Seclude() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot keep other processes out of this one: %w", err)
	}
	return nil
}
