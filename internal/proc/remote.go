package proc

import (
	"context"
	"os"
	"time"

	"github.com/settle-agent/settle/event"
)

// Remote has custody of a command on another machine. Its methods may be called
// by several goroutines.
type Remote interface {
	// End asks for the end of everything and returns at once.
	End(grace time.Duration)
	// Write gives the command input, and CloseInput ends it.
	Write(ctx context.Context, data []byte) error
	CloseInput() error
	// Why says why the end of a command takes long.
	Why() string
}

// Ending is how whoever made a process with [NewRemote] ends it.
type Ending struct{ p *Process }

// NewRemote returns a process that is in custody on another machine. Its output
// goes to whoever wants it without passing through the Process.
func NewRemote(pid int, command string, r Remote) (*Process, *Ending) {
	p := newProcess()
	p.pid, p.far, p.keep = pid, r, remoteProcess{p: p, command: command, remote: r}
	return p, &Ending{p}
}

// Exited says how the command ended and what it left running. It is called at
// most once.
func (e *Ending) Exited(exit Exit, rest []event.Process) { e.p.commandExited(exit, rest) }

// Gone says that everything has ended but the survivors, perhaps because somebody
// there asked for it. Gone or Lost is called once, after which nothing is.
func (e *Ending) Gone(survivors []event.Process, asked bool) {
	e.p.asked = asked
	e.p.treeGone(survivors)
}

// Lost says that nobody will know what became of it, and why.
func (e *Ending) Lost(why string) {
	e.p.lost.Store(&why)
	e.p.treeGone(nil)
}

// Lost says why nobody knows what became of a command on another machine; empty
// where that is known, as far as it is yet.
func (p *Process) Lost() string {
	if why := p.lost.Load(); why != nil {
		return *why
	}
	return ""
}

// Far reports whether the command runs on another machine.
func (p *Process) Far() bool { return p.far != nil }

// keptByRemote is a process whose keeper is elsewhere.
type remoteProcess struct {
	p       *Process
	command string
	remote  Remote
}

func (k remoteProcess) end(grace time.Duration) { k.remote.End(grace) }

func (k remoteProcess) remains() []event.Process {
	return []event.Process{{PID: k.p.pid, Command: k.command, Why: k.remote.Why()}}
}

// interrupt does nothing: only the exec-server interrupts commands, and it runs them
// here.
func (remoteProcess) interrupt() {}

// release is not to be had: see [Process.Release].
func (remoteProcess) release(*os.File, Log) error { return ErrCannotRelease }

// Nothing here can prove which process it is.
func (remoteProcess) keeper() *event.Identity        { return nil }
func (remoteProcess) identityOf(int) *event.Identity { return nil }
