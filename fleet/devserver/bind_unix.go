//go:build unix && !linux

package devserver

import (
	"os/exec"
	"syscall"
)

// bindToThread only separates the command from the terminal.
func bindToThread(cmd *exec.Cmd, _ syscall.Signal) (release func()) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return func() {}
}
