package executor

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
)

// Hands are a machine that tools work on. All methods may be called by several
// goroutines.
type Executor interface {
	// Machine says which machine it is.
	Machine() Machine
	// Start starts a command. The context bounds only the start; whoever starts
	// a command waits for its Done.
	Start(ctx context.Context, c Command) (*proc.Process, error)
	// Call does what a tool wants done near to the files or the network of the
	// machine, and returns what came of it.
	Call(ctx context.Context, r Request) (json.RawMessage, error)
}

// Machine is what tools, models and people need to know of a machine.
type Machine struct {
	// Name is its host name; empty for this machine.
	Name string `json:"name,omitempty"`
	// OS is as in runtime.GOOS.
	OS string `json:"os"`
	// Dir is the directory that tools work in, and Home the user's own; both are
	// empty for this machine.
	Dir  string `json:"dir,omitempty"`
	Home string `json:"home,omitempty"`
	// Container says that it looks like a container.
	Container bool `json:"container,omitempty"`
	// Shell is the name of the program that runs commands; empty if there is none.
	Shell string `json:"shell,omitempty"`
	// Withheld are the variables that commands do not get.
	Withheld []string `json:"withheld,omitempty"`
	// Weaker says what is not promised about processes there.
	Weaker []string `json:"weaker,omitempty"`
}

// Command is a command for the shell of a machine.
type Command struct {
	Script string
	// Call is the id of the tool call that it is for; empty if there is none.
	Call string
	// Dir is the directory that tools work in, and Workdir where the command is to
	// run: relative to it, absolute, or empty.
	Dir, Workdir string
	// Places are where the call's paths led when the call was decided, Workdir among
	// them; nil if nobody decided. The command runs there, or not at all.
	Places []event.ResolvedPath
	// Env is added to the machine's environment of commands.
	Env []string
	// Input says where its standard input comes from, and Terminal, if set, gives
	// it a terminal instead.
	Input    proc.Input
	Terminal *proc.Size
	// Grace is as in [proc.Spec].
	Grace time.Duration
	// Sandbox is what the command may do; empty for whatever the user may. Secrets says
	// which secrets it gets.
	Sandbox event.Sandbox
	Secrets event.Secrets
	// Output takes what it puts out, as [proc.Spec].Stdout does.
	Output io.Writer
}

// Request is something else that a tool wants done.
type Request struct {
	// Name says what: one of the calls of this package, or that of a tool.
	Name string
	// Call is the id of the tool call, and Dir the directory that tools work in.
	Call, Dir string
	Args      json.RawMessage
}
