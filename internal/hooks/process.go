package hooks

import (
	"context"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/settle-agent/settle/internal/proc"
)

// maxOutput bounds each output of a hook, in bytes. A hook that prints more is ended.
const maxOutput = 256 << 10

// grace is the time that a hook has to end after SIGTERM.
const grace = 50 * time.Millisecond

// Processes runs hooks as processes on this machine, each under a supervisor (C7). It
// implements [Runner].
type Processes struct {
	// Env is the environment of commands, without keys.
	Env []string
	// Marker and Lock are as in [proc.Spec].
	Marker string
	Lock   *os.File
	// Project, if set, starts the hooks of a project, in the sandbox in force: commands can change
	// the files that these hooks run.
	Project func(context.Context, proc.Spec) (*proc.Process, error)
}

// Run implements [Runner].
func (p Processes) Run(ctx context.Context, c Command) (Result, error) {
	argv := shell(c.Line)
	if c.Args != nil {
		argv = append([]string{c.Line}, c.Args...)
	}
	var starter func(context.Context, proc.Spec) (*proc.Process, error)
	if c.Project {
		starter = p.Project
	}
	out, err := proc.Run(ctx, proc.Command{
		Argv: argv, Dir: c.Dir, Env: slices.Concat(p.Env, c.Env), Stdin: c.Stdin, MaxBytes: maxOutput,
		Marker: p.Marker, Lock: p.Lock, Grace: grace, Starter: starter,
	})
	return Result{
		Code: out.Code, Stdout: out.Stdout, Stderr: out.Stderr, Truncated: out.Truncated, Lost: out.Lost ||
			out.Signal != 0, Survivors: out.Survivors,
	}, err
}

func shell(line string) []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd", "/C", line}
	}
	return []string{"/bin/sh", "-c", line}
}
