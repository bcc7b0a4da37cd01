package stdio

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/settle-agent/settle/event"
)

// StopFor returns the stop that a broken standard output causes.
func StopFor(err error, kind Kind) Stop {
	stop := Stop{Reason: event.Shutdown, By: "stdout", Code: CodeFailed}
	switch {
	case kind == Device && (IsClosed(err) || hungUp(err)):
		// SIGHUP may be on its way, and be too late to say so.
		stop.Code, stop.Err = CodeHangup, errors.New("the terminal was closed")
	case IsClosed(err):
		stop.Code, stop.Err = CodeStdoutClosed, fmt.Errorf("standard output was closed: %w", err)
	default:
		stop.Err = fmt.Errorf("cannot write to standard output: %w", err)
	}
	return stop
}

// Kind is the kind of an output.
type Kind string

// The kinds.
const (
	File   Kind = "file"   // or a pipe, or memory
	Device Kind = "device" // a terminal, mostly
)

// KindOf returns the kind of w.
func KindOf(w io.Writer) Kind {
	f, ok := w.(*os.File)
	if !ok {
		return File
	}
	if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		return Device
	}
	return File
}
