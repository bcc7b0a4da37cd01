package journal

import (
	"fmt"
	"io/fs"
)

// HeldError says that another process holds the session.
type HeldError struct {
	Session string
	// PID is the process that holds it, or 0 if it cannot be seen, such as
	// from another container.
	PID int
	// Away, if it is not 0, is what the process is called where it runs: in
	// another container, or on another machine.
	Away int
	// Stopped says that the process is stopped, as by Ctrl-Z, and will not
	// let go by itself.
	Stopped bool
	// Host, if it is not 0, is the dead process that PID is cleaning up after.
	Host int
	// Attachable says that the host answers those who ask to take part.
	Attachable bool
	// Why says why it could not be taken, if that was asked for.
	Why string
}

func (e *HeldError) Error() string {
	holder := fmt.Sprintf("pid %d", e.PID)
	if e.PID == 0 {
		holder = "a process that cannot be seen from here"
		if e.Away != 0 {
			holder = fmt.Sprintf("pid %d in another container or on another machine", e.Away)
		}
	}
	if e.Stopped {
		holder += ", stopped"
	}
	if e.Host != 0 {
		holder += fmt.Sprintf(", which cleans up after pid %d", e.Host)
	}
	next := fmt.Sprintf("end it, or take the session over with \"settle run --session %s --take\"", e.Session)
	if e.Attachable {
		next = fmt.Sprintf("attach to it with \"settle resume %s\", ", e.Session) + next
	}
	if e.Why != "" {
		next = "it could not be taken over: " + e.Why
	}
	return fmt.Sprintf("cannot open session %q: held by %s; %s", e.Session, holder, next)
}

// MissingError says that there is no such session.
type MissingError struct{ Session, Dir string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("there is no session %q in %q; \"settle sessions list\" shows those that there are", e.Session, e.Dir)
}

// Unwrap makes it an [fs.ErrNotExist].
func (e *MissingError) Unwrap() error { return fs.ErrNotExist }

// NewerError says that a newer settle wrote the log.
type NewerError struct {
	Path    string
	Version int // of the file's format or of an event
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("cannot open %q: a newer settle wrote it (version %d); nothing was changed; use that settle, or another session", e.Path, e.Version)
}

// ForeignError says that a file or directory where a log should be is
// something else.
type ForeignError struct {
	Path string
	What string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("cannot open %q: it is %s; nothing was changed; move it away, or use another session", e.Path, e.What)
}

// AccessError says that the log, or a directory on its way, cannot be used.
type AccessError struct {
	Path string
	Err  error
}

func (e *AccessError) Error() string {
	return fmt.Sprintf("cannot open the session's log %q: %v; nothing was changed; make it writable, or set SETTLE_DATA_DIR to a directory that is", e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *AccessError) Unwrap() error { return e.Err }

// NameError says that a session's id cannot be used as one.
type NameError struct{ Session string }

func (e *NameError) Error() string {
	return fmt.Sprintf("cannot use %q as a session id: use 1 to 128 letters, digits, '-', '_' and '.', beginning with a letter or digit", e.Session)
}
