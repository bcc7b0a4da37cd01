package journal

import (
	"fmt"
	"io/fs"
)

// HeldError reports that another process holds the session.
type HeldError struct {
	Session string
	// PID is the holder, or 0 if it is invisible, for example in another container.
	PID int
	// RemotePID, if it is not 0, is the holder's pid in another container or on another machine.
	RemotePID int
	// Stopped reports that the holder is stopped, for example by Ctrl-Z, and will not release
	// the session.
	Stopped bool
	// Host, if it is not 0, is the dead host whose surviving supervisor is PID.
	Host int
	// Attachable reports that the host has a control socket.
	Attachable bool
	// Why explains why a takeover failed.
	Why string
}

func (e *HeldError) Error() string {
	holder := fmt.Sprintf("pid %d", e.PID)
	if e.PID == 0 {
		holder = "a process that cannot be seen from here"
		if e.RemotePID != 0 {
			holder = fmt.Sprintf("pid %d in another container or on another machine", e.RemotePID)
		}
	}
	if e.Stopped {
		holder += ", stopped"
	}
	if e.Host != 0 {
		holder += fmt.Sprintf(", which cleans up after pid %d", e.Host)
	}
	next := fmt.Sprintf(
		"end it, or take the session over with \"settle run --session %s --take\", which ends the turn that runs there",
		e.Session,
	)
	if e.Attachable {
		next = fmt.Sprintf("attach to it with \"settle resume %s\", ", e.Session) + next
	}
	if e.Why != "" {
		next = "it could not be taken over: " + e.Why
	}
	return fmt.Sprintf("cannot open session %q: open in %s; %s", e.Session, holder, next)
}

// MissingError reports that the session does not exist.
type MissingError struct{ Session, Dir string }

func (e *MissingError) Error() string {
	return fmt.Sprintf(
		"there is no session %q in %q; \"settle sessions list\" shows those that there are", e.Session, e.Dir,
	)
}

// Unwrap returns [fs.ErrNotExist].
func (e *MissingError) Unwrap() error { return fs.ErrNotExist }

// NewerError reports that a newer settle wrote the log.
type NewerError struct {
	Path    string
	Version int // of the file's format or of an event
}

func (e *NewerError) Error() string {
	return fmt.Sprintf(
		"cannot open %q: a newer settle wrote it (version %d); nothing was changed; use that settle, or another session",
		e.Path,
		e.Version,
	)
}

// ForeignError reports that a log's path is another kind of file.
type ForeignError struct {
	Path string
	What string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf(
		"cannot open %q: it is %s; nothing was changed; move it away, or use another session", e.Path, e.What,
	)
}

// AccessError reports that the log, or a directory above it, is inaccessible.
type AccessError struct {
	Path string
	Err  error
}

func (e *AccessError) Error() string {
	return fmt.Sprintf(
		"cannot open the session's log %q: %v; nothing was changed; make it writable, or set SETTLE_DATA_DIR to a directory that is",
		e.Path,
		e.Err,
	)
}

// Unwrap returns the cause.
func (e *AccessError) Unwrap() error { return e.Err }

// NameError reports an invalid session id.
type NameError struct{ Session string }

func (e *NameError) Error() string {
	return fmt.Sprintf(
		"cannot use %q as a session id: use 1 to 128 letters, digits, '-', '_' and '.', beginning with a letter or digit",
		e.Session,
	)
}
