package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
)

// Process is a tracked command with all its descendants.
type Process struct {
	pid      int
	mark     string
	keep     keeper
	out, err *pump
	input    *os.File // feeds standard input, or the terminal; may be nil
	terminal bool
	remote   Remote // nil if the command runs on this machine

	// The keeper's goroutine writes these before it closes the channel.
	exited       chan struct{}
	exit         Exit
	rest         []event.Process
	done         chan struct{}
	concluded    chan struct{} // nil without Spec.Ended
	survivors    []event.Process
	endRequested bool // another process asked the supervisor to end the command

	lost atomic.Pointer[string] // why the outcome is unknown

	wakes atomic.Int64 // how often the supervisor woke this process
}

// keeper ends the processes of one command; each method of tracking has one. It calls
// commandExited at most once, then treeGone once.
type keeper interface {
	// end requests the end of all processes and returns at once. A second call can only shorten
	// the deadline.
	end(grace time.Duration)
	// interrupt sends an interrupt to the command's process group, unless the command has
	// exited.
	interrupt()
	// release makes the processes outlive the host and moves their output to the log.
	release(out *os.File, log Log) error
	// remains names the current processes.
	remains() []event.Process
	// keeper identifies the process that tracks the command, if there is one; identityOf
	// identifies a process that provably belongs to the command.
	keeper() *event.Identity
	identityOf(pid int) *event.Identity
}

// Log is the file that receives the output of a released process.
type Log struct {
	Path string
	// MaxBytes bounds the file; output above it is dropped, so that the process never blocks.
	MaxBytes int64
}

// Start starts a command. The context bounds only the start; the command runs until it exits or
// End is called. The caller waits for Done.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	if len(spec.Argv) == 0 || spec.Argv[0] == "" {
		return nil, errors.New("cannot start a command: it is empty")
	}
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("cannot start %q: %w", spec.Argv[0], err)
	}
	if spec.Sandbox != nil {
		if err := Confines(); err != nil { // C22
			return nil, fmt.Errorf("cannot confine %q: %w", spec.Argv[0], err)
		}
	}
	if spec.RealDir {
		d, err := disk.OpenDir(spec.Dir)
		if err != nil {
			return nil, fmt.Errorf("cannot start %q: %w", spec.Argv[0], err)
		}
		d.Close()
	}
	p, err := start(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("cannot start %q: %w", spec.Argv[0], err)
	}
	if spec.Ended != nil {
		p.concluded = make(chan struct{})
		go func() { // ends after the last process; callers wait for Concluded
			defer close(p.concluded)
			<-p.done
			spec.Ended()
		}()
	}
	return p, nil
}

func newProcess() *Process {
	return &Process{exited: make(chan struct{}), done: make(chan struct{})}
}

// PID is the command's process id.
func (p *Process) PID() int { return p.pid }

// Record returns the identities by which other programs find the command; pid is one of its
// processes.
func (p *Process) Record(pid int) RecordedCommand {
	return RecordedCommand{Process: p.keep.identityOf(pid), Keeper: p.keep.keeper(), Mark: p.mark}
}

// Exited is closed when the command itself has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Done is closed when no process of the command is left that settle may end and all output is
// delivered, or when the command was released.
func (p *Process) Done() <-chan struct{} { return p.done }

// Concluded is closed when Done is closed and Spec.Ended has returned.
func (p *Process) Concluded() <-chan struct{} {
	if p.concluded == nil {
		return p.done
	}
	return p.concluded
}

// LeftNothing reports whether the command has exited and no process of it runs on, so that Done is
// closed or is about to be closed.
func (p *Process) LeftNothing() bool {
	select {
	case <-p.done:
		return true
	case <-p.exited:
		return len(p.rest) == 0
	default:
		return false
	}
}

// Exit is the exit of the command; valid once Exited is closed.
func (p *Process) Exit() Exit { return p.exit }

// Rest names the processes that the command left when it exited; valid once Exited is closed. It
// is empty unless the Spec has KeepRest.
func (p *Process) Rest() []event.Process { return p.rest }

// Survivors names the processes that could not be ended; valid once Done is closed.
func (p *Process) Survivors() []event.Process { return p.survivors }

// EndedByOthers reports whether another program requested the end, such as
// [RecordedCommand.End]; valid once Done is closed.
func (p *Process) EndedByOthers() bool { return p.endRequested }

// Wakes returns the number of times that this process was stopped and woken while the command ran;
// see [KeepAwake].
func (p *Process) Wakes() int { return int(p.wakes.Load()) }

// Remains names the current processes. It asks the operating system.
func (p *Process) Remains() []event.Process {
	select {
	case <-p.done:
		return p.survivors
	default:
		return p.keep.remains()
	}
}

// Wait waits for the exit of the command and the delivery of its output until then. C8: it never
// waits for a pipe to close. If ctx ends first, Wait returns its cause and changes nothing.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.exited:
	default:
		select {
		case <-p.exited:
		case <-ctx.Done():
			return Exit{}, context.Cause(ctx)
		}
	}
	p.out.drain(ctx)
	p.err.drain(ctx)
	return p.exit, nil
}

// End ends the command and all its descendants (C7): TERM, after the grace KILL, until no
// process is left. It waits for that and names the processes that could not be ended. If ctx
// ends first, it names the current processes, and the termination continues. A second call can
// shorten the grace.
func (p *Process) End(ctx context.Context, grace time.Duration) []event.Process {
	select {
	case <-p.done:
		return p.survivors
	default:
	}
	p.keep.end(max(grace, 0))
	select {
	case <-p.done:
		return p.survivors
	case <-ctx.Done():
		return p.Remains()
	}
}

// Silent is closed when no process can produce output any more, and all output is delivered. A
// running process can have closed its output, and an exited one can have left processes with
// output.
func (p *Process) Silent() <-chan struct{} {
	silent := make(chan struct{})
	go func() { // ends with the pipes, at the latest when the process is done
		defer close(silent)
		for _, pump := range []*pump{p.out, p.err} {
			if pump == nil {
				continue
			}
			pump.mu.Lock()
			ended := pump.ended
			pump.mu.Unlock()
			<-ended
		}
	}()
	return silent
}

// Interrupt acts like Ctrl-C at a terminal: it sends an interrupt to the command's process
// group. A command that has exited receives none (C23).
func (p *Process) Interrupt() {
	select {
	case <-p.exited:
	default:
		p.keep.interrupt()
	}
}

// ErrCannotRelease reports that processes cannot outlive the host on this system.
var ErrCannotRelease = errors.New("cannot release processes without a supervisor")

// Release stops tracking the processes: they outlive the host, and the log receives their
// output. Done is closed then.
func (p *Process) Release(log Log) error {
	if p.remote != nil {
		return errors.New("cannot release process: it runs on another machine")
	}
	if p.err != nil {
		return errors.New("cannot release process: it has a standard error of its own")
	}
	p.out.stop()
	if err := p.keep.release(p.out.src, log); err != nil {
		p.out.resume()
		return fmt.Errorf("cannot release process %d: %w", p.pid, err)
	}
	return nil
}

// ErrNoInput reports that a command has no standard input to write to.
var ErrNoInput = errors.New("the process takes no input")

// Write sends input to the command. It fails if the command does not read it before ctx ends.
func (p *Process) Write(ctx context.Context, data []byte) error {
	if p.remote != nil {
		return p.remote.Write(ctx, data)
	}
	if p.input == nil {
		return ErrNoInput
	}
	stop := context.AfterFunc(ctx, func() { _ = p.input.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	_ = p.input.SetWriteDeadline(time.Time{})
	if _, err := p.input.Write(data); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("cannot write to process %d: %w", p.pid, err)
	}
	return nil
}

// CloseInput ends the input of the command.
func (p *Process) CloseInput() error {
	switch {
	case p.remote != nil:
		return p.remote.CloseInput()
	case p.input == nil:
		return ErrNoInput
	case p.terminal:
		_, err := p.input.Write([]byte{4}) // end of transmission
		return err
	}
	return p.input.Close()
}

func (p *Process) commandExited(exit Exit, rest []event.Process) {
	p.exit, p.rest = exit, rest
	close(p.exited)
}

func (p *Process) treeGone(survivors []event.Process) {
	p.survivors = survivors
	p.out.finish()
	p.err.finish()
	if p.input != nil && !p.terminal {
		_ = p.input.Close()
	}
	select {
	case <-p.exited:
	default:
		p.exit = Exit{Code: -1, Lost: true}
		close(p.exited)
	}
	close(p.done)
}
