package devserver

import (
	"os/exec"
	"runtime"
	"syscall"
)

// bindToThread has the kernel signal the command when the calling thread ends. The thread
// must live until the command has ended: release lets it go.
func bindToThread(cmd *exec.Cmd, death syscall.Signal) (release func()) {
	runtime.LockOSThread()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = death
	return runtime.UnlockOSThread
}
