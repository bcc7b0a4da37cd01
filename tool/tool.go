package tool

import (
	"context"
	"encoding/json"
	"time"

	"github.com/settle-agent/settle/event"
)

// Spec describes a tool to the model and to settle.
type Spec struct {
	// Name is unique in a Set, of the characters [a-zA-Z0-9_-], at most 64.
	Name        string
	Description string
	// Schema is the JSON Schema of the arguments; always of type object.
	Schema json.RawMessage
	// Grammar, if set, lets models that have custom tools send free text
	// instead of JSON; it arrives as the value of the only property of Schema.
	Grammar string
	// Timeout bounds a call of a tool that has no bound of its own; 0 uses the turn's
	// longer bound.
	Timeout time.Duration
	// ReadOnly reports that a call changes nothing outside settle.
	ReadOnly bool
	// Deferred, if set, is the owner of the tool, such as a server with many tools: only
	// models whose provider searches tools are offered it, to be found.
	Deferred string
	// Finder marks a tool for all other models, which finds or calls the deferred tools.
	Finder bool
}

// Tool is one action of a model.
//
// Run is called by several goroutines at once. An error means that the call failed, and the
// model receives it; a Result with Failed has an output instead. When ctx is cancelled, Run
// ends everything that it started and returns its output so far, with Result.Aborted set.
type Tool interface {
	Spec() Spec
	Run(ctx context.Context, call Call) (Result, error)
}

// Call is one call of a tool.
type Call struct {
	// ID is settle's id of the call, unique in its session.
	ID      string
	Session string
	Name    string
	// Args are the arguments, valid by the tool's schema.
	Args json.RawMessage
	// Dir is the session's absolute working directory.
	Dir string
	// Progress receives output during the call, for people and for the log; never nil. It
	// need not receive whole lines, and can drop output beyond a limit. It does not block.
	Progress func(text string)
	// Notice receives a line for people during the call, which is not output; never nil.
	// The model does not receive it. It does not block.
	Notice func(line string)
	// Ask asks the user to fill in a form; never nil. It returns the JSON object of the
	// values, nothing for an opened page, or a [*DeclinedError]. It ends with ctx.
	Ask func(ctx context.Context, f event.Form) (json.RawMessage, error)
	// Sandbox is the sandbox of the call. A tool that starts processes confines them to it,
	// or fails; other tools ignore it.
	Sandbox event.Sandbox
	// Secrets selects the secrets that its processes receive; a tool that starts processes
	// withholds other secrets, or fails.
	Secrets event.Secrets
	// Starts are the names of the programs that the call can start because it was allowed;
	// see [Starter].
	Starts []string
	// Places are the targets of the call's paths at the time of the decision. A tool that
	// works on files opens these places, and no others. Nil if the decision was not about
	// paths, or if there was no decision.
	Places []event.ResolvedPath
	// Alone, if set, must hold when the call starts a process: it returns why the process must not
	// start. No sandboxed process starts before the process has exited.
	Alone func() error
	// Permission is the permission mode that the person chose who accepted the plan of the call;
	// empty for none.
	Permission string
}

// Occasional is implemented by tools that models are offered only at times. Calls of them are
// valid at any time.
type Occasional interface {
	Offered() bool
}

// Program is a program that a call starts and that a client named instead of the user.
type Program struct {
	// Name is its name, such as the name of an MCP server.
	Name string
	// Argv is its command line, and Variables are the names of its additional variables
	// from the client.
	Argv, Variables []string
	// Dir is its working directory.
	Dir string
}

// Starter is implemented by tools whose calls can start such programs. It is called before
// the decision about the call, which also applies to the programs.
type Starter interface {
	Starts(args json.RawMessage) []Program
}

// DeclinedError: the user did not fill in a form, or no person could; Policy is then the
// policy that answered.
type DeclinedError struct{ Message, Policy string }

func (e *DeclinedError) Error() string { return e.Message }

// NobodyToAsk is the Ask of a [Call] without a person.
func NobodyToAsk(context.Context, event.Form) (json.RawMessage, error) {
	return nil, &DeclinedError{Message: "no person can be asked", Policy: "nobody to ask"}
}

// Titler is implemented by tools that can describe a call in one line for people.
type Titler interface {
	Title(args json.RawMessage) string
}

// Result is the result of a call.
type Result struct {
	// Output is the model's result. Valid UTF-8.
	Output string
	// Failed reports that the tool ran and did not succeed.
	Failed bool
	// Aborted reports that the context ended the call; Output is the output so far, and no
	// part of the call still runs.
	Aborted bool
	// Unknown reports that the call's machine was lost and that its outcome is unknown;
	// Output is the known part.
	Unknown bool
	// OutputFile has the whole output if Output is only a part of it, and OutputBytes is
	// its length.
	OutputFile  string
	OutputBytes int64
	ExitCode    *int
	// Detail is for people and frontends, such as a diff; models never receive it.
	Detail json.RawMessage
	// Jobs are the jobs that the call left running, Survivors the processes that it could
	// not end.
	Jobs      []string
	Survivors []event.Process
}
