//go:build unix

package temporaldev

import (
	"os/exec"
	"syscall"
)

// separate keeps the terminal's Ctrl-C from the server: it is for this program, which
// stops the server last.
func separate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
