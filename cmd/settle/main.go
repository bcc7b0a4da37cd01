// Command settle is a coding agent for shells and scripts: it runs a prompt to
// its end in a directory and reports by its exit code how the turn ended. This package
// has flags, signals and exit codes; the packages below it decide everything else. Read
// root.go first: it lists the commands.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/proc"
	_ "github.com/settle-agent/settle/internal/proc/early" // wardens start before all else
)

func main() {
	proc.RunAsSupervisor()
	code := execute(system())
	os.Exit(code)
}

// execute runs the command line and returns its exit code.
func execute(s *streams) int {
	root := newRoot(s)
	root.SetArgs(arguments(os.Args))
	root.SetIn(s.stdin)
	root.SetOut(s.stdout)
	root.SetErr(s.stderr)
	err := root.Execute()
	defer func() {
		if err := s.telemetry.Close(); err != nil {
			s.say(err)
		}
	}()
	var exit *exitError
	switch {
	case err == nil:
		return stdio.CodeCompleted
	case errors.As(err, &exit):
		if exit.err != nil {
			s.say(exit.err)
		}
		return exit.code
	}
	s.say(err)
	return stdio.CodeUsage
}

// arguments returns the command line: a link named claude runs "settle claude". Wardens have a name of their own, and never come here.
func arguments(argv []string) []string {
	if name := strings.TrimSuffix(filepath.Base(argv[0]), ".exe"); name == "claude" {
		return append([]string{name}, argv[1:]...)
	}
	return argv[1:]
}

// exitError ends a command with a code. If err is set, it must still be printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

func failed(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{stdio.CodeFailed, err}
}
