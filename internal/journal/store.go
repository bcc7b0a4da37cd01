package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"github.com/settle-agent/settle/event"
)

// Store keeps a session's events. Its Append is called by one goroutine at a
// time; Read may be called at any time, also after Close.
type Store interface {
	// Append adds the events after those it has, all or none. It returns a
	// [SpaceError] if there is no room, but the space that is reserved for
	// endings is still there for an Append with Last.
	Append(batch []event.Event, sync Sync) error
	// Read returns the events after the cursor, in order, up to the end that
	// it finds. It may return events of an Append that has not yet returned.
	Read(ctx context.Context, after uint64) iter.Seq2[event.Event, error]
	// Close releases what the store holds.
	Close() error
}

// Sync says how a batch is to be written.
type Sync string

// The ways to write a batch.
const (
	// Lazily: the operating system may keep it in memory. It survives the
	// death of the process.
	Lazily Sync = "lazily"
	// Durably: it is on stable storage when Append returns.
	Durably Sync = "durably"
	// Last: durably, and it may use up the space reserved for endings.
	Last Sync = "last"
)

// SpaceError says that an append found no room outside of the reserve.
type SpaceError struct{ Err error }

func (e *SpaceError) Error() string { return fmt.Sprintf("no space is left for the log: %v", e.Err) }

// Unwrap returns the cause.
func (e *SpaceError) Unwrap() error { return e.Err }

// FailedError says that the store failed. The event that was to be appended
// was accepted and published, but may not outlive the process.
type FailedError struct{ Err error }

func (e *FailedError) Error() string {
	if errors.Is(e.Err, fs.ErrNotExist) {
		return fmt.Sprintf("cannot write the session's log: %v", e.Err)
	}
	return fmt.Sprintf("cannot write the session's log: %v; what was written before is kept", e.Err)
}

// Unwrap returns the cause.
func (e *FailedError) Unwrap() error { return e.Err }

// ErrClosed is returned by an Update after Close.
var ErrClosed = errors.New("the session's log is closed")
