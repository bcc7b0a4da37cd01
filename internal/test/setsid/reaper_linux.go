package setsid

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// takeIn executes the command as a subreaper, which it stays.
func takeIn(argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	return syscall.Exec(path, argv, os.Environ())
}
