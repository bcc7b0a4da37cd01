package stdio

import (
	"strings"

	"github.com/settle-agent/settle/event"
)

// The exit codes (C14). A turn that a signal ended has 128 plus its number.
const (
	CodeCompleted = 0
	CodeFailed    = 1
	// CodeUsage: no model request was made.
	CodeUsage = 2
	CodeLimit = 3
	// CodeHangup is the exit code of SIGHUP in a shell: the terminal was closed.
	CodeHangup = 129
	// CodeStdoutClosed is the exit code of SIGPIPE in a shell.
	CodeStdoutClosed = 141
)

// Stop is a request to end all running work.
type Stop struct {
	Reason event.Reason
	// By names the source of the stop for the log: "signal:SIGTERM", "stdout".
	By string
	// Code is the exit code if the turn ends by this.
	Code int
	// Err is the error behind the stop, if any.
	Err error
}

// Signal returns the name of the signal that the stop is.
func (s Stop) Signal() (name string, isSignal bool) { return strings.CutPrefix(s.By, "signal:") }

// Insists reports whether a further stop shows that a person is impatient. A lost client is
// one cause that appears in several ways: standard input ends, the reader of standard
// output is gone, the parent dies, and the terminal hangs up.
func (s Stop) Insists() bool {
	name, isSignal := s.Signal()
	return isSignal && name != "SIGHUP"
}

// Who returns the name of the requester, for a person.
func (s Stop) Who() string { return strings.TrimPrefix(s.By, "signal:") }

// Code returns the exit code for the end of a turn, which the stops may have caused. Only a
// completed turn has 0.
func Code(cause *event.Cause, stops ...Stop) int {
	switch {
	case cause == nil:
		return CodeFailed
	case cause.Outcome == event.Completed:
		return CodeCompleted
	case cause.Outcome == event.Failed:
		return CodeFailed
	case cause.Reason == event.LimitReached:
		return CodeLimit
	}
	for _, stop := range stops {
		if stop.By == cause.By {
			return stop.Code
		}
	}
	return CodeFailed
}
