package executor

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
)

// Executor is a machine that tools work on. Several goroutines call its methods.
type Executor interface {
	// Machine describes the machine.
	Machine() Machine
	// Start starts a command. The context bounds only the start; the caller waits for Done of
	// the process.
	Start(ctx context.Context, c Command) (*proc.Process, error)
	// Call runs an operation of a tool next to the machine's files or network, and returns its
	// result.
	Call(ctx context.Context, r Request) (json.RawMessage, error)
}

// Machine describes a machine for tools, models and people.
type Machine struct {
	// Name is its host name; empty for this machine.
	Name string `json:"name,omitempty"`
	// OS is as in runtime.GOOS.
	OS string `json:"os"`
	// Dir is the working directory of tools, and Home the user's home directory; both are empty
	// for this machine.
	Dir  string `json:"dir,omitempty"`
	Home string `json:"home,omitempty"`
	// Container reports that the machine seems to be a container.
	Container bool `json:"container,omitempty"`
	// Shell is the name of the program that runs commands; empty without one.
	Shell string `json:"shell,omitempty"`
	// Withheld are the names of the variables that commands do not receive.
	Withheld []string `json:"withheld,omitempty"`
	// Weaker lists the guarantees of process tracking that do not hold there.
	Weaker []string `json:"weaker,omitempty"`
}

// Command is a command for the shell of a machine.
type Command struct {
	Script string
	// Call is the id of the tool call; empty without one.
	Call string
	// Dir is the working directory of tools. Workdir is the directory of the command: relative
	// to Dir, absolute, or empty.
	Dir, Workdir string
	// Places are the resolved paths of the call at its decision, including Workdir; nil without
	// a decision. The command runs there, or not at all.
	Places []event.ResolvedPath
	// Env is added to the machine's environment of commands.
	Env []string
	// Input is the source of standard input; Terminal, if set, replaces it with a terminal.
	Input    proc.Input
	Terminal *proc.Size
	// Grace is as in [proc.Spec].
	Grace time.Duration
	// Sandbox is the sandbox of the command; empty for none. Secrets decides which secrets the
	// command receives.
	Sandbox event.Sandbox
	Secrets event.Secrets
	// Alone, if set, runs a command outside of the sandbox while no call runs a sandboxed command, and
	// keeps sandboxed commands from starting until its exit. The command starts only if Alone, which is
	// called then, returns nil. Other machines ignore it.
	Alone func() error
	// Output receives the command's output, as [proc.Spec].Stdout does.
	Output io.Writer
}

// Request is another operation of a tool.
type Request struct {
	// Name is the operation: a call of this package, or of a tool.
	Name string
	// Call is the id of the tool call, and Dir the working directory of tools.
	Call, Dir string
	Args      json.RawMessage
}
