package proc

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// attendDelay is how long a program that a person works with has to go after it was
// asked to.
const foregroundDelay = time.Second

// Attended is a program that a person works with on the terminal, such as an editor.
type ForegroundProgram struct {
	Argv []string
	Dir  string
	// Env is the whole environment.
	Env         []string
	Stdin       *os.File
	Stdout, Err *os.File
}

// Attend runs the program until the person is done with it, or ctx ends. It is not
// of a tool call, and in nobody's custody: it belongs to the person, has this process's
// group and so the terminal, and what it leaves running is theirs.
func RunForeground(ctx context.Context, a ForegroundProgram) error {
	cmd := exec.CommandContext(ctx, a.Argv[0], a.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = a.Dir, a.Env, a.Stdin, a.Stdout, a.Err
	cmd.Cancel = func() error { return cmd.Process.Signal(hangup()) }
	cmd.WaitDelay = foregroundDelay
	err := spawn(func() (int, error) {
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
