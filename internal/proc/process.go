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

// Process is a command in custody, with everything that descends from it.
type Process struct {
	pid      int
	mark     string
	keep     keeper
	out, err *pump
	input    *os.File // what feeds standard input, or the terminal; may be nil
	terminal bool
	far      Remote // nil where the command runs here

	// Written by the keeper's goroutine before it closes the channel.
	exited    chan struct{}
	exit      Exit
	rest      []event.Process
	done      chan struct{}
	survivors []event.Process
	asked     bool // somebody else asked the warden to end it

	lost atomic.Pointer[string] // why nobody knows what became of it

	wakes atomic.Int64 // how often its warden woke this process
}

// keeper ends the processes of one command; there is one kind for each way of
// keeping them. It calls commandExited at most once, then treeGone once.
type keeper interface {
	// end asks for the end of everything and returns at once. When asked
	// again, the earlier deadline counts.
	end(grace time.Duration)
	// interrupt sends an interrupt to the command's process group, if the command
	// has not exited.
	interrupt()
	// release makes the processes outlive the host, and lets what they put
	// out go from the pipe to the log.
	release(out *os.File, log Log) error
	// remains names what is there now.
	remains() []event.Process
	// keeper identifies the process that keeps the command, if there is one, and
	// identityOf one of the command's, if it is proved to be that.
	keeper() *event.Identity
	identityOf(pid int) *event.Identity
}

// Log is the file that a released process goes on writing to.
type Log struct {
	Path string
	// MaxBytes is the size at which the file stops growing; what comes after
	// is dropped, so that the process never blocks.
	MaxBytes int64
}

// Start starts a command. The context bounds only the start; the command runs
// until it exits or End is called. Whoever starts a command waits for Done.
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
	return p, nil
}

func newProcess() *Process {
	return &Process{exited: make(chan struct{}), done: make(chan struct{})}
}

// PID is the command's process id.
func (p *Process) PID() int { return p.pid }

// Mark is the value of MarkerName in the environment of the command and of
// whatever it starts.
func (p *Process) Mark() string { return p.mark }

// Record returns what others know the command by, where pid is one of its
// processes.
func (p *Process) Record(pid int) RecordedCommand {
	return RecordedCommand{Process: p.keep.identityOf(pid), Keeper: p.keep.keeper(), Mark: p.mark}
}

// Exited is closed when the command itself is gone.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Done is closed when nothing of the command runs any more, or nothing that
// settle may end, and all of the output has been delivered; or when it was
// released.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit is how the command ended; valid once Exited is closed.
func (p *Process) Exit() Exit { return p.exit }

// Rest names what the command left running when it exited; valid once Exited
// is closed. It is empty unless the Spec said KeepRest.
func (p *Process) Rest() []event.Process { return p.rest }

// Survivors names what could not be ended; valid once Done is closed.
func (p *Process) Survivors() []event.Process { return p.survivors }

// EndedByOthers reports whether somebody outside of this program, such as
// [Recorded.End], had it ended; valid once Done is closed.
func (p *Process) EndedByOthers() bool { return p.asked }

// Wakes is how often this process was stopped while the command ran, by the
// command perhaps, and was woken; see [KeepAwake].
func (p *Process) Wakes() int { return int(p.wakes.Load()) }

// Remains names what runs now. It asks the operating system.
func (p *Process) Remains() []event.Process {
	select {
	case <-p.done:
		return p.survivors
	default:
		return p.keep.remains()
	}
}

// Wait waits for the command to exit and for its output until then to be
// delivered. C8: it never waits for a pipe to close. When ctx ends before the
// exit, Wait returns its cause and nothing has changed.
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

// End ends the command and all of its descendants (C7): TERM, after the grace
// KILL, until there are none. It waits until that is done and names what could
// not be ended; when ctx ends first it names what still runs, and the ending
// goes on. It may be called again with a shorter grace.
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

// Silent is closed when everybody who could put something out is gone, or has closed
// what it would write to; what they have put out has been delivered then. A process
// may be silent and run on, and one that has exited may have left somebody who speaks.
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

// Interrupt does what Ctrl-C does at a terminal: the command and its process group
// get an interrupt. A command that has exited gets none (C23).
func (p *Process) Interrupt() {
	select {
	case <-p.exited:
	default:
		p.keep.interrupt()
	}
}

// ErrCannotRelease says that the processes cannot outlive the host here.
var ErrCannotRelease = errors.New("processes cannot be released without a warden")

// Release lets go of the processes: they outlive the host, and what they put
// out from now on is appended to the log. Done is closed then.
func (p *Process) Release(log Log) error {
	if p.far != nil {
		return errors.New("cannot release process: it runs on another machine, where nobody would end it")
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

// ErrNoInput says that a command has no standard input that could be written.
var ErrNoInput = errors.New("the process takes no input")

// Write gives the command input. It fails if the command does not read it
// before ctx ends.
func (p *Process) Write(ctx context.Context, data []byte) error {
	if p.far != nil {
		return p.far.Write(ctx, data)
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

// CloseInput tells the command that there is no more input.
func (p *Process) CloseInput() error {
	switch {
	case p.far != nil:
		return p.far.CloseInput()
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
