package proc

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// foregroundDelay is the time that a foreground program has to end after ctx ended.
const foregroundDelay = time.Second

// ForegroundProgram is a program that a person uses on the terminal, such as an editor.
type ForegroundProgram struct {
	Argv []string
	Dir  string
	// Env is the whole environment.
	Env         []string
	Stdin       *os.File
	Stdout, Err *os.File
}

// RunForeground runs the program until it ends, or ctx ends. The program is not tracked: it has
// the group of this process and therefore the terminal, and its background processes stay. It
// is found where commands cannot change it, and receives the [TrustedEnv].
func RunForeground(ctx context.Context, a ForegroundProgram) error {
	file, err := FindProgram(a.Argv[0], os.Getenv("PATH"))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, file, a.Argv[1:]...)
	cmd.Args[0] = a.Argv[0]
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = a.Dir, TrustedEnv(a.Env), a.Stdin, a.Stdout, a.Err
	cmd.Cancel = func() error { return cmd.Process.Signal(hangup()) }
	cmd.WaitDelay = foregroundDelay
	err = spawn(func() (int, error) {
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("cannot start %q: %w", a.Argv[0], err)
	}
	err = cmd.Wait()
	forget(cmd.Process.Pid)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%q failed: %w", a.Argv[0], err)
	}
	return nil
}
