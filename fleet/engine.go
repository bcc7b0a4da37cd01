package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Engine hands units out to workers and keeps what became of them.
type Engine interface {
	// Submit takes tasks that are complete, all or none, and returns how many of
	// them were not known. The tasks are durable then.
	Submit(ctx context.Context, tasks []Task) (fresh int, err error)
	// Cancel asks for the end of a unit, and reports whether it had not ended. One
	// that no worker has ends at once.
	Cancel(ctx context.Context, unit, by string) (bool, error)
	// Heartbeat says that a worker is alive and how much more it can take, and
	// returns what it is to do.
	Heartbeat(ctx context.Context, b Beat) (Orders, error)
	// State returns a unit. One that is not known is an [*UnknownError].
	State(ctx context.Context, unit string) (Unit, error)
	// Complete ends an attempt: with a result the unit has ended, with nil it is
	// for another worker. An attempt that another has followed is an [ErrLost].
	Complete(ctx context.Context, a Attempt, r *Result) error
}

// Waker is an engine that says when a heartbeat is worthwhile.
type Waker interface {
	// Wake returns a channel that gets a token when there may be something to do.
	Wake() <-chan struct{}
}

// Beat is a worker's sign of life.
type Beat struct {
	Worker string
	// Lease is how long the worker is believed to be alive without another beat.
	Lease time.Duration
	// Room is how many more units it can take. Rescue is how many units of dead workers
	// it can take beyond that.
	Room, Rescue int
}

// Orders are what a worker is to do.
type Orders struct {
	// Begin are the attempts that it has been given now.
	Begin []Attempt
	// Holds has all units of the worker, with their epochs; a unit that it runs and that
	// is not among them belongs to another worker. Cancel has the units that must be
	// cancelled, with the name of the requester.
	Holds  map[string]int64
	Cancel map[string]string
}

// ErrLost says that an attempt is over: another has followed it.
var ErrLost = errors.New("another worker has the unit")

// UnknownError says that there is no such unit.
type UnknownError struct{ Unit string }

func (e *UnknownError) Error() string { return fmt.Sprintf("there is no unit %q", e.Unit) }
