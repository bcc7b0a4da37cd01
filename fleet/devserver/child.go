package devserver

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Child is a server that runs as a child process of this one.
type Child struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when it has ended, after cmd.ProcessState is set
}

// Start starts the command in a process group of its own: the terminal's Ctrl-C is for this
// program, which stops its servers last. On Linux, the kernel sends the process the signal
// when this process dies; other systems need a pipe that the server watches.
func Start(cmd *exec.Cmd, death syscall.Signal) (*Child, error) {
	c := &Child{cmd: cmd, exited: make(chan struct{})}
	startErr := make(chan error, 1)
	// It ends with the process; Stop waits for it.
	go func() {
		defer close(c.exited)
		release := bindToThread(cmd, death)
		defer release()
		err := cmd.Start()
		startErr <- err // has room
		if err == nil {
			_ = cmd.Wait() // ExitStatus returns how it ended
		}
	}()
	if err := <-startErr; err != nil {
		return nil, fmt.Errorf("cannot start %q: %w", cmd.Path, err)
	}
	return c, nil
}

// Process returns the operating system's process.
func (c *Child) Process() *os.Process { return c.cmd.Process }

// Exited is closed when the process has ended.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// ExitStatus returns the exit status of the process, such as "signal: killed"; "" while it runs, and "unknown" if a
// reaper of this process's descendants has taken the status first.
func (c *Child) ExitStatus() string {
	select {
	case <-c.exited:
		if c.cmd.ProcessState == nil {
			return "unknown"
		}
		return c.cmd.ProcessState.String()
	default:
		return ""
	}
}

// End asks the process to end, kills it after the timeout, and waits until it has ended.
func (c *Child) End(ask func(), timeout time.Duration) {
	ask()
	kill := time.NewTimer(timeout)
	defer kill.Stop()
	select {
	case <-c.exited:
	case <-kill.C:
		_ = c.cmd.Process.Kill()
		<-c.exited // a process that was killed ends
	}
}
