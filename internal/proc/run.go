package proc

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/internal/sandbox"
)

// defaultMaxBytes bounds each output of a helper without MaxBytes.
const defaultMaxBytes = 8 << 20

// Command is a short helper that settle runs for itself, such as git.
type Command struct {
	Argv []string
	Dir  string
	// Env is the whole environment.
	Env []string
	// Stdin is the command's standard input; nil is the null device.
	Stdin []byte
	// MaxBytes bounds each of the two outputs; a command with a longer standard output is ended.
	// 8 MiB if it is 0.
	MaxBytes int
	// Grace is the time between TERM and KILL if ctx ends the command; DefaultGrace if 0.
	Grace time.Duration
	// Lock, Marker, Sandbox and ProxyListener are as in Spec.
	Lock          *os.File
	Marker        string
	Sandbox       *sandbox.Policy
	ProxyListener func(*os.File)
	// Starter, if set, starts the command instead of [Start], such as in a sandbox.
	Starter func(context.Context, Spec) (*Process, error)
}

// Output is the output of a helper and its exit.
type Output struct {
	Exit
	Stdout, Stderr []byte
	// Truncated reports that standard output was longer than MaxBytes.
	Truncated bool
	// Survivors are the processes that could not be ended.
	Survivors []event.Process
}

// Run runs a helper to its end, with all its descendants. A command that fails is not an error;
// a failed start and the end of ctx are.
func Run(ctx context.Context, c Command) (Output, error) {
	limit := c.MaxBytes
	if limit <= 0 {
		limit = defaultMaxBytes
	}
	full, enough := context.WithCancel(ctx)
	defer enough()
	stdout, stderr := &bounded{
		room: bound.NewBudget(limit),
		full: enough,
	}, &bounded{
		room: bound.NewBudget(limit),
		full: func() {},
	}
	env, start := c.Env, c.Starter
	if start == nil {
		start = Start
		if c.Sandbox == nil {
			env = TrustedEnv(env)
		}
	}
	spec := Spec{
		Argv:          c.Argv,
		Dir:           c.Dir,
		Env:           env,
		Stdout:        stdout,
		Stderr:        stderr,
		Lock:          c.Lock,
		Marker:        c.Marker,
		Sandbox:       c.Sandbox,
		ProxyListener: c.ProxyListener,
		Grace:         c.Grace,
	}
	if c.Stdin != nil {
		spec.Input = PipeInput
	}
	p, err := start(ctx, spec)
	if err != nil {
		return Output{}, err
	}
	if c.Stdin != nil {
		go func() { // ends when all is read or nothing reads any more: Done closes the pipe
			_ = p.Write(full, c.Stdin)
			_ = p.CloseInput()
		}()
	}
	_, waited := p.Wait(full)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), DefaultGrace+stopTimeout)
	defer cancel()
	left := p.End(last, cmp.Or(c.Grace, DefaultGrace))
	select { // what follows the command can depend on what a Starter does at its end
	case <-p.Concluded():
	case <-last.Done():
	case <-ctx.Done():
	}
	out := Output{
		Exit:      p.exitNow(),
		Survivors: left,
		Stdout:    stdout.bytes(),
		Stderr:    stderr.bytes(),
		Truncated: stdout.overflowed(),
	}
	if waited != nil && ctx.Err() != nil {
		return out, fmt.Errorf("cannot finish %q: %w", c.Argv[0], context.Cause(ctx))
	}
	return out, nil
}

// stopTimeout bounds the wait for a helper that does not end.
const stopTimeout = 3 * time.Second

func (p *Process) exitNow() Exit {
	select {
	case <-p.exited:
		return p.exit
	default:
		return Exit{Code: -1, Lost: true}
	}
}

// bounded keeps the start of the written data.
type bounded struct {
	full func() // called when more data arrives

	mu       sync.Mutex // guards the fields below
	room     bound.Budget
	buf      bytes.Buffer
	exceeded bool
}

func (b *bounded) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := b.room.Bytes(data)
	if len(kept) < len(data) {
		b.exceeded = true
		b.full()
	}
	b.buf.Write(kept)
	return len(data), nil
}

func (b *bounded) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.buf.Bytes())
}

func (b *bounded) overflowed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.exceeded
}
