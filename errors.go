package settle

import (
	"errors"
	"io/fs"

	"github.com/settle-agent/settle/internal/journal"
)

// LockedError says that another process holds the session. LockTimeout and Take in
// [SessionConfig] say what to do about it.
type LockedError struct {
	Session string
	// PID is the process that holds it, or 0 if it cannot be seen, such as
	// from another container.
	PID int
	// Away, if it is not 0, is what the process is called where it runs: in
	// another container, or on another machine.
	Away int
	// Stopped says that the process is stopped, as by Ctrl-Z, and will not
	// release the session by itself.
	Stopped bool
	// Host, if it is not 0, is the dead process that PID is cleaning up after.
	Host int
	// Why says why the session could not be taken, if that was asked for.
	Why string

	err error
}

func (e *LockedError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *LockedError) Unwrap() error { return e.err }

// MissingError says that there is no such session. It is an [fs.ErrNotExist].
type MissingError struct {
	Session string
	err     error
}

func (e *MissingError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *MissingError) Unwrap() error { return e.err }

// Is reports whether the target is [fs.ErrNotExist].
func (*MissingError) Is(target error) bool { return target == fs.ErrNotExist }

// NewerError says that a newer settle wrote the session. Nothing was changed.
type NewerError struct {
	Session string
	Version int // of the file's format or of an event
	err     error
}

func (e *NewerError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *NewerError) Unwrap() error { return e.err }

// DamagedError says that a session's log cannot be read, or only up to the damage.
// Opening a session cuts off a damaged end and saves it next to the log.
type DamagedError struct {
	Session string
	// Offset is where in the file the damage is; -1 where the whole file is
	// something else than a log.
	Offset int64
	err    error
}

func (e *DamagedError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.err }

// typed returns an error of the journal as one that programs can act on.
func typedError(id string, err error) error {
	var held *journal.HeldError
	var missing *journal.MissingError
	var newer *journal.NewerError
	var damage *journal.DamageError
	var foreign *journal.ForeignError
	switch {
	case errors.As(err, &held):
		return &LockedError{id, held.PID, held.Away, held.Stopped, held.Host, held.Why, err}
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
