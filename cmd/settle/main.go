// Command settle is a coding agent for shells and scripts: it runs a prompt to
// its end in a directory and says by its exit code how it ended. This package
// has the flags, the signals and the wiring; what happens is decided below it.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/settle-agent/settle/internal/face/run"
	"github.com/settle-agent/settle/internal/proc"
	_ "github.com/settle-agent/settle/internal/proc/early" // wardens start before all else
)

func main() {
	proc.RunAsWarden()
	code := execute(system())
	os.Exit(code)
}

// execute runs the command line and returns its exit code.
func execute(s *streams) int {
	root := newRoot(s)
	root.SetArgs(os.Args[1:])
	root.SetIn(s.stdin)
	root.SetOut(s.stdout)
	root.SetErr(s.stderr)
	err := root.Execute()
	var exit *exitError
	switch {
	case err == nil:
		return run.CodeCompleted
	case errors.As(err, &exit):
		if exit.err != nil {
			s.say(exit.err)
		}
		return exit.code
	}
	s.say(err)
	return run.CodeUsage
}

// exitError ends a command with a code; err, if set, is still to be said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

func failed(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{run.CodeFailed, err}
}
