package proc

import (
	"io"
	"os"
	"time"

	"github.com/settle-agent/settle/internal/sandbox"
)

// Rest says what becomes of the processes that a command leaves behind when
// it exits by itself.
type Rest string

// What becomes of them.
const (
	// EndRest ends them as [Process.End] would. The default.
	EndRest Rest = ""
	// KeepRest lets them run until End, Release, or the death of the host.
	KeepRest Rest = "keep"
)

// Size is the size of a terminal in characters.
type Size struct{ Rows, Cols uint16 }

// Input says where a command's standard input comes from.
type Input string

// Where it comes from.
const (
	// NoInput is the null device. The default.
	NoInput Input = ""
	// PipeInput is a pipe that [Process.Write] feeds.
	PipeInput Input = "pipe"
)

// DefaultGrace is how long a process that was asked to end has before it is
// killed, unless the caller says otherwise.
const DefaultGrace = 250 * time.Millisecond

// Spec describes a command.
type Spec struct {
	// Argv is the program and its arguments. A program without a slash is
	// looked up in this process's PATH.
	Argv []string
	// Dir is the working directory; empty means this process's.
	Dir string
	// RealDir says that Dir is canonical, as a decision about the command has it. If a
	// component of it has become a link, the command does not start. (Without a
	// supervisor, that is looked at just before the start.)
	RealDir bool
	// Env is the whole environment; nil means an empty one, never ours.
	Env []string
	// Input says where standard input comes from. A terminal has its own.
	Input Input
	// Stdout takes what the command and its descendants put out, until Done;
	// nil discards it. It must not block for long: the command waits for it.
	// What it returns is ignored.
	Stdout io.Writer
	// Stderr takes standard error; nil merges it into Stdout, in order.
	Stderr io.Writer
	// Terminal, if set, gives the command a pseudo-terminal of that size as
	// its standard files. Stderr is not used then.
	Terminal *Size
	// Grace is the time between TERM and KILL where the ending is not asked
	// for by End: the host died, or EndRest. DefaultGrace if it is 0.
	Grace time.Duration
	Rest  Rest
	// Lock is a file that lives as long as the processes do: it is held open
	// by the warden and by nothing that the warden starts.
	Lock *os.File
	// Marker is put into the environment of the command, under MarkerName,
	// for Sweep. It should be unique on the machine and say whose command
	// this is; a slash and a unique part are appended.
	Marker string
	// Sandbox, if set, is all that the command and its descendants may do. Where that
	// cannot be enforced, the command does not start; see [Confines].
	Sandbox *sandbox.Policy
	// ProxyListener takes where a proxied command in a network of its own finds its proxy: a
	// socket that listens there. It is called once, before Start returns.
	ProxyListener func(*os.File)
}

// MarkerName is the variable that marks the environment of each command.
const MarkerName = "SETTLE_CUSTODY"

// Exit is how the command itself ended.
type Exit struct {
	// Code is the exit code, or 128 plus the signal, as shells have it.
	Code int
	// Signal is the number of the signal that killed it, or 0.
	Signal int
	// Lost says that whoever watched the command died first; nobody knows the
	// code.
	Lost bool
}

// OK reports whether the command exited with code 0.
func (e Exit) OK() bool { return e == Exit{} }

func (s Spec) grace() time.Duration {
	if s.Grace <= 0 {
		return DefaultGrace
	}
	return s.Grace
}
