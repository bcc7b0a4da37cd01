package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"github.com/settle-agent/settle/event"
)

// Store stores a session's events. One goroutine at a time calls Append; Read can be called at
// any time, also after Close.
type Store interface {
	// Append appends the events, all or none. It returns a [SpaceError] if there is no space,
	// although an Append with Last can still use the space that is reserved for endings.
	Append(batch []event.Event, sync Sync) error
	// Read returns the events after the cursor, in order, up to the current end. It can return
	// events of an Append that has not returned yet.
	Read(ctx context.Context, after uint64) iter.Seq2[event.Event, error]
	// Close releases the resources of the store.
	Close() error
}

// Sync is the required durability of a batch.
type Sync string

// The values of Sync.
const (
	// Lazily: the operating system can keep the data in memory. It survives the death of the
	// process.
	Lazily Sync = "lazily"
	// Durably: the data is durable when Append returns.
	Durably Sync = "durably"
	// Last: durable, and it can use the space reserved for endings.
	Last Sync = "last"
)

// SpaceError reports that no space was left outside of the reserve.
type SpaceError struct{ Err error }

func (e *SpaceError) Error() string { return fmt.Sprintf("no space is left for the log: %v", e.Err) }

// Unwrap returns the cause.
func (e *SpaceError) Unwrap() error { return e.Err }

// FailedError reports that the store failed. The event was accepted and published, but is lost
// if the process dies.
type FailedError struct{ Err error }

func (e *FailedError) Error() string {
	if errors.Is(e.Err, fs.ErrNotExist) {
		return fmt.Sprintf("cannot write the session's log: %v", e.Err)
	}
	return fmt.Sprintf("cannot write the session's log: %v; what was written before is kept", e.Err)
}

// Unwrap returns the cause.
func (e *FailedError) Unwrap() error { return e.Err }

// ErrClosed is the error of an Update after Close.
var ErrClosed = errors.New("the session's log is closed")
