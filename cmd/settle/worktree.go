package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/journal"
)

// worktreeFlag is the flag --worktree: the name of the git worktree of a new session.
type worktreeFlag struct {
	wanted bool
	value  string
	// isArgument reports whether the name is an argument, and no value of the flag.
	isArgument bool
	// outside reports that the session continues outside of its worktree.
	outside bool
	// flags has the flag, and wordsBefore is the number of words before the flag.
	flags       *pflag.FlagSet
	wordsBefore int
}

const worktreeUsage = "work in a git worktree of the session's own, on the branch settle/NAME or settle/SESSION"

// noWorktreeName is the value of --worktree without a name. It is no name of a branch.
const noWorktreeName = " "

func (w *worktreeFlag) define(flags *pflag.FlagSet) {
	w.flags = flags
	flags.Var(w, "worktree", worktreeUsage)
	flags.Lookup("worktree").NoOptDefVal = noWorktreeName
}

// Set implements [pflag.Value].
func (w *worktreeFlag) Set(value string) error {
	if value == "" {
		return errors.New("the name is empty; give one, or leave out the \"=\"")
	}
	w.wanted, w.value = true, value
	if w.flags != nil {
		w.wordsBefore = w.flags.NArg()
	}
	return nil
}

// String implements [pflag.Value].
func (w *worktreeFlag) String() string { return w.value }

// Type implements [pflag.Value].
func (*worktreeFlag) Type() string { return "NAME" }

// name returns the wanted name, "" for none; nil if no worktree is wanted.
func (w *worktreeFlag) name() *string {
	if !w.wanted {
		return nil
	}
	name := w.value
	if name == noWorktreeName {
		name = ""
	}
	return &name
}

// take takes the name from the arguments of "settle --worktree NAME", and returns the rest. A
// prompt has spaces.
func (w *worktreeFlag) take(args []string) []string {
	if !w.wanted || len(args) == 0 || strings.ContainsAny(args[0], " \t\n") {
		return args
	}
	if w.value == noWorktreeName {
		w.value, w.isArgument = args[0], true
	}
	if w.isArgument {
		return args[1:]
	}
	return args
}

// recorded returns the worktree of the session that continues; nil for none. A new session
// with a worktree gets its ID now. With --cwd, a session continues outside of its worktree.
func (w *worktreeFlag) recorded(cmd *cobra.Command, dataDir string, session *string) (*event.Worktree, error) {
	known := assemble.RecordedWorktree(dataDir, *session)
	switch {
	case w.wanted && *session == "":
		*session = settle.NewSessionID()
	case w.wanted && known == nil:
		if _, err := journal.Load(dataDir, *session); !errors.As(err, new(*journal.MissingError)) {
			return nil, fmt.Errorf(
				"--worktree: session %s exists, and works in no git worktree; --worktree is for new sessions", *session,
			)
		}
	case w.outside, cmd.Flags().Changed("cwd"):
		return nil, nil
	}
	return known, nil
}
