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
	// Timeout bounds a call of a tool that has no bound of its own; 0 leaves
	// it to the turn, which has a generous one.
	Timeout time.Duration
	// ReadOnly says that a call changes nothing outside settle.
	ReadOnly bool
	// Deferred, if set, names what the tool belongs to, such as a server: there are
	// many, and only models whose provider searches tools are offered it, to be found.
	Deferred string
	// Finder says that the tool is for all other models, to find or call the deferred.
	Finder bool
}

// Tool is one thing that a model can do.
//
// Run is called by several goroutines at once. An error means that the call
// failed, and is what the model is told; a Result with Failed says the same
// with an output. When ctx is cancelled, Run ends what it started and returns
// what it has, with Result.Aborted set.
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
	// Dir is the session's working directory, absolute.
	Dir string
	// Progress takes output as it comes, for people to see and for the log to
	// keep; never nil. What it is given need not be line by line, and may be
	// dropped beyond a bound. It does not block.
	Progress func(text string)
	// Notice takes a line that people should know while the call runs, and that
	// is none of its output; never nil. The model is not told. It does not block.
	Notice func(line string)
	// Ask has the user fill in a form; never nil. It returns the JSON object of the
	// values, nothing for a page that was opened, or a [*DeclinedError]. It ends
	// with ctx.
	Ask func(ctx context.Context, f event.Form) (json.RawMessage, error)
	// Sandbox is what the call may do. A tool that starts processes confines them
	// to that, or fails; for others it means nothing.
	Sandbox event.Sandbox
	// Secrets says which secrets its processes get; a tool that starts processes
	// withholds the others, or fails.
	Secrets event.Secrets
	// Starts names the programs that the call may start since it was allowed to; see
	// [Starter].
	Starts []string
	// Places are where the call's paths led when the call was decided. A tool that works
	// on files opens these places, and no others. Nil if the decision was not about
	// paths, or nobody decided.
	Places []event.ResolvedPath
}

// Program is a program that a call starts and that the user has not chosen: a client
// named it.
type Program struct {
	// Name is what it is called, such as that of an MCP server.
	Name string
	// Argv is its command line, and Variables are the names of those that the client
	// adds to its environment.
	Argv, Variables []string
	// Dir is where it runs.
	Dir string
}

// Starter is implemented by tools whose calls may start such programs. It is asked before
// somebody decides about the call: whoever allows it allows these as well.
type Starter interface {
	Starts(args json.RawMessage) []Program
}

// DeclinedError says that the user did not fill in a form, or that nobody is there
// who could: Policy then names what answered.
type DeclinedError struct{ Message, Policy string }

func (e *DeclinedError) Error() string { return e.Message }

// NobodyToAsk is a [Call].Ask where nobody is there.
func NobodyToAsk(context.Context, event.Form) (json.RawMessage, error) {
	return nil, &DeclinedError{Message: "no person can be asked", Policy: "nobody to ask"}
}

// Titler is implemented by tools that can say in one line, for people, what a
// call will do.
type Titler interface {
	Title(args json.RawMessage) string
}

// Result is what a call gave.
type Result struct {
	// Output is what the model is told. Valid UTF-8.
	Output string
	// Failed says that the tool ran and did not succeed.
	Failed bool
	// Aborted says that the call was cut by its context; Output is what it
	// had until then, and nothing of it runs any more.
	Aborted bool
	// Unknown says that the machine that the call ran on was lost, and nobody knows
	// what became of it; Output is what is known.
	Unknown bool
	// OutputFile is where the whole output is if Output is only part of it,
	// and OutputBytes how long that is.
	OutputFile  string
	OutputBytes int64
	ExitCode    *int
	// Detail is for people and faces, such as a diff; never sent to a model.
	Detail json.RawMessage
	// Jobs are jobs that the call left behind, Survivors the processes that
	// it could not end.
	Jobs      []string
	Survivors []event.Process
}
