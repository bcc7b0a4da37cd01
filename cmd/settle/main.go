// Command settle is a coding agent for shells and scripts: it runs a prompt to
// its end in a directory and reports by its exit code how the turn ended. This package
// has flags, signals and exit codes; the packages below it decide everything else. Read
// root.go first: it lists the commands.
//
// Other files:
//
//   - tui.go: settle without arguments, and resume
//   - worktree.go: the flag --worktree
//   - ownhost.go: the host process that a terminal starts for its session
//   - detach.go: settle run --detach, and the host process that it starts
//   - run.go: settle run
//   - serve.go: settle serve
//   - sessions.go: settle sessions and import
//   - compact.go: settle compact
//   - rewind.go: settle rewind
//   - jobs.go: settle jobs
//   - approvals.go: settle approvals
//   - hooks.go: settle hooks
//   - plugins.go: settle plugins
//   - models.go: settle models
//   - skills.go: settle skills
//   - mcpservers.go: settle mcp-servers
//   - login.go: settle mcp-servers login and logout
//   - mcp.go: settle mcp
//   - acp.go: settle acp
//   - exec.go: settle exec (Codex)
//   - agents.go: settle agents
//   - appserver.go: settle app-server (Codex)
//   - execserver.go: settle exec-server (Codex)
//   - claude.go: settle claude
//   - protocol.go: what commands that serve a protocol share
//   - executor.go: settle executor
//   - checkendings.go: settle check-endings
//   - fakemodel.go: settle fake-model
//   - demo.go: settle demo
//   - setup.go: settle setup
//   - about.go: settle config, doctor and version
//   - update.go: settle update; the release keys
//   - spent.go: settle usage
//   - usage.go: groups and layout of help
//   - review.go: settle review
//   - prompt.go: settle prompt
//   - reference.go: settle help --json
//   - complete.go: completion of a shell
//   - mistake.go: messages about wrong arguments and flags
//   - project.go: flags about a project's configuration
//   - datadir.go: the flag --data-dir
//   - listen.go: flags of commands that listen for HTTP
//   - streams.go: standard streams, variables, settings of a process
//   - signals.go: which signal ends a command, and how
//   - pause_linux.go: Ctrl-Z
//   - resize_unix.go: changes of the terminal's size
//   - discard_linux.go: drops unread input of a terminal
//   - editor.go: opens the person's editor
//   - status_terminal.go: whether standard error can show a status
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/proc"
	_ "github.com/settle-agent/settle/internal/proc/early" // supervisors start before all else
	"github.com/settle-agent/settle/internal/proc/pdf"
)

func main() {
	proc.RunAsSupervisor()
	pdf.RunAsExtractor()
	code := execute(system())
	os.Exit(code)
}

// execute runs the command line and returns its exit code.
func execute(s *streams) int {
	root, args := newRoot(s), arguments(os.Args)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		complete(root, s)
	}
	root.SetArgs(args)
	root.SetIn(s.stdin)
	root.SetOut(s.stdout)
	root.SetErr(s.stderr)
	err := root.Execute()
	defer func() {
		if err := errors.Join(s.telemetry.Close(), proc.RemoveShadows()); err != nil {
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

// arguments returns the command line: a link named claude runs "settle claude". Supervisors have a name of their own, and never come here.
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
