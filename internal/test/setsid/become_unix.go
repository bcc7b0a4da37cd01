//go:build unix

package setsid

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// become executes the command in a session of its own, as a child where this
// process leads a group and so cannot leave its session.
func become(argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	_, err = syscall.Setsid()
	if errors.Is(err, syscall.EPERM) {
		cmd := exec.Command(path, argv[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err = cmd.Start(); err == nil {
			os.Exit(0) // as setsid(1) does
		}
	}
	if err != nil {
		return err
	}
	return syscall.Exec(path, argv, os.Environ())
}
