package settle

import (
	"errors"
	"io/fs"

	"github.com/settle-agent/settle/internal/journal"
)

// LockedError reports that another process has the session open. See LockTimeout and Take in
// [SessionConfig].
type LockedError struct {
	Session string
	// PID is the process that has the session open, or 0 if that process is not visible, such
	// as in another container.
	PID int
	// RemotePID, if not 0, is the process id on another machine or in another container.
	RemotePID int
	// Stopped means that the process is stopped, such as by Ctrl-Z, and cannot release the
	// session by itself.
	Stopped bool
	// Host, if not 0, is the dead host whose processes the process PID ends.
	Host int
	// Why states why the session could not be taken over, if Take was set.
	Why string

	err error
}

func (e *LockedError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *LockedError) Unwrap() error { return e.err }

// MissingError reports that the session does not exist. It is an [fs.ErrNotExist].
type MissingError struct {
	Session string
	err     error
}

func (e *MissingError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *MissingError) Unwrap() error { return e.err }

// Is reports whether the target is [fs.ErrNotExist].
func (*MissingError) Is(target error) bool { return target == fs.ErrNotExist }

// NewerError reports that a newer version of settle wrote the session. Nothing was changed.
type NewerError struct {
	Session string
	Version int // version of the file format or of an event
	err     error
}

func (e *NewerError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *NewerError) Unwrap() error { return e.err }

// DamagedError reports that a session's log cannot be read completely. Opening the session
// cuts off a damaged end and keeps it beside the log.
type DamagedError struct {
	Session string
	// Offset is the position of the damage in the file; -1 if the file is not a log.
	Offset int64
	err    error
}

func (e *DamagedError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.err }

// typedError returns an error of the journal as an error of this package.
func typedError(id string, err error) error {
	var held *journal.HeldError
	var missing *journal.MissingError
	var newer *journal.NewerError
	var damage *journal.DamageError
	var foreign *journal.ForeignError
	switch {
	case errors.As(err, &held):
		return &LockedError{id, held.PID, held.RemotePID, held.Stopped, held.Host, held.Why, err}
	case errors.As(err, &missing):
		return &MissingError{id, err}
	case errors.As(err, &newer):
		return &NewerError{id, newer.Version, err}
	case errors.As(err, &damage):
		return &DamagedError{id, damage.Offset, err}
	case errors.As(err, &foreign):
		return &DamagedError{id, -1, err}
	}
	return err
}
