package proc

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Seclude denies other processes of the same user access to this process: its memory,
// environment and descriptors (PR_SET_DUMPABLE, ptrace(2)). It also disables core dumps.
// Processes with CAP_SYS_PTRACE, such as most of root's, keep access. Executed programs are not
// affected.
//
// Afterwards root owns the files of this process in /proc: the process can still follow its own
// links there, such as /proc/self/exe, but cannot write to them.
func Seclude() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot keep other processes out of this one: %w", err)
	}
	return nil
}
