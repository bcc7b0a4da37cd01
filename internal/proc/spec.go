package proc

import (
	"io"
	"os"
	"time"

	"github.com/settle-agent/settle/internal/sandbox"
)

// Rest decides about the processes that a command leaves when it exits by itself.
type Rest string

// The decisions.
const (
	// EndRest ends them as [Process.End] would. The default.
	EndRest Rest = ""
	// KeepRest lets them run until End, Release, or the death of the host.
	KeepRest Rest = "keep"
)

// Size is the size of a terminal in characters.
type Size struct{ Rows, Cols uint16 }

// Input is the source of a command's standard input.
type Input string

// The sources.
const (
	// NoInput is the null device, the default.
	NoInput Input = ""
	// PipeInput is a pipe that [Process.Write] feeds.
	PipeInput Input = "pipe"
)

// DefaultGrace is the default time between TERM and KILL.
const DefaultGrace = 250 * time.Millisecond

// Spec describes a command.
type Spec struct {
	// Argv is the program and its arguments. A program without a slash is searched in this
	// process's PATH.
	Argv []string
	// Dir is the working directory; empty means this process's.
	Dir string
	// RealDir reports that Dir is canonical, as the decision about the command has it. If a
	// component has become a link, the command does not start. (Without a supervisor, only a
	// check before the start ensures that.)
	RealDir bool
	// Env is the whole environment; nil is empty.
	Env []string
	// Input is the source of standard input. A terminal has its own.
	Input Input
	// Stdout receives the output of the command and its descendants until Done; nil discards it.
	// It must not block for long, because the command waits. Its result is ignored.
	Stdout io.Writer
	// Stderr receives standard error; nil merges it into Stdout, in order.
	Stderr io.Writer
	// Terminal, if set, gives the command a pseudo-terminal of that size as its standard files.
	// Stderr is unused then.
	Terminal *Size
	// Grace is the time between TERM and KILL for terminations without End: death of the host,
	// or EndRest. DefaultGrace if it is 0.
	Grace time.Duration
	Rest  Rest
	// Lock is a file that stays open as long as the processes live: the supervisor holds it, and
	// the command does not inherit it.
	Lock *os.File
	// Marker is put into the environment of the command, under MarkerName, for Sweep. It is
	// unique on the machine and identifies the session; a slash and a unique part are appended.
	Marker string
	// Sandbox, if set, confines the command and its descendants. If the system cannot enforce
	// it, the command does not start; see [Confines].
	Sandbox *sandbox.Policy
	// Confirm, if set, is called once the command is confined, before it starts. If it returns an
	// error, the command does not start, and Start returns the error. It is not called without a
	// supervisor.
	Confirm func() error
	// ProxyListener receives the listening socket of the proxy in a command's own network. It is
	// called once, before Start returns.
	ProxyListener func(*os.File)
	// Ended, if set, is called once after Done is closed. Concluded is closed when it has returned.
	Ended func()
}

// MarkerName is the variable that has the marker in the environment of each command.
const MarkerName = "SETTLE_PROCESS_MARK"

// Exit is the exit of the command itself.
type Exit struct {
	// Code is the exit code, or 128 plus the signal, as in shells.
	Code int
	// Signal is the number of the signal that killed it, or 0.
	Signal int
	// Lost reports that the watcher of the command died first, so that the code is unknown.
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
