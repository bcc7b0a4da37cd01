package proc

import (
	"context"
	"os"
	"time"

	"github.com/settle-agent/settle/event"
)

// Remote ends and feeds a command on another machine. Several goroutines call its methods.
type Remote interface {
	// End requests the end of all processes and returns at once.
	End(grace time.Duration)
	// Write sends input to the command, and CloseInput ends the input.
	Write(ctx context.Context, data []byte) error
	CloseInput() error
	// Why explains why the end of a command takes long.
	Why() string
}

// Ending reports the end of a process to its [Process]; the caller of [NewRemote] has it.
type Ending struct{ p *Process }

// NewRemote returns a process that another machine tracks. Its output does not pass through the
// Process.
func NewRemote(pid int, command string, r Remote) (*Process, *Ending) {
	p := newProcess()
	p.pid, p.remote, p.keep = pid, r, remoteProcess{p: p, command: command, remote: r}
	return p, &Ending{p}
}

// Exited reports the command's exit and the remaining processes. Call it at most once.
func (e *Ending) Exited(exit Exit, rest []event.Process) { e.p.commandExited(exit, rest) }

// TreeEnded reports that all processes have ended except the survivors; requested reports that a process there
// requested the end. Call TreeEnded or Lost once, as the last method.
func (e *Ending) TreeEnded(survivors []event.Process, requested bool) {
	e.p.endRequested = requested
	e.p.treeGone(survivors)
}

// Lost reports that the outcome is unknown, and why.
func (e *Ending) Lost(why string) {
	e.p.lost.Store(&why)
	e.p.treeGone(nil)
}

// Lost returns why the outcome of a remote command is unknown; empty if it is known or still
// open.
func (p *Process) Lost() string {
	if why := p.lost.Load(); why != nil {
		return *why
	}
	return ""
}

// IsRemote reports whether the command runs on another machine.
func (p *Process) IsRemote() bool { return p.remote != nil }

// remoteProcess is a process that another machine tracks.
type remoteProcess struct {
	p       *Process
	command string
	remote  Remote
}

func (k remoteProcess) end(grace time.Duration) { k.remote.End(grace) }

func (k remoteProcess) remains() []event.Process {
	return []event.Process{{PID: k.p.pid, Command: k.command, Why: k.remote.Why()}}
}

// interrupt does nothing: only the exec-server interrupts commands, and it runs them on this
// machine.
func (remoteProcess) interrupt() {}

// release always fails: see [Process.Release].
func (remoteProcess) release(*os.File, Log) error { return ErrCannotRelease }

// This machine cannot identify remote processes.
func (remoteProcess) keeper() *event.Identity        { return nil }
func (remoteProcess) identityOf(int) *event.Identity { return nil }
