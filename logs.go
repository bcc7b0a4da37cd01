package settle

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/session"
)

// Logs keeps the logs of sessions outside of files, such as in a database that several
// machines share.
type Logs interface {
	// OpenLog takes over the log of a session; a new session's log is empty. From then on,
	// earlier holders cannot append. The session closes the log.
	OpenLog(ctx context.Context, session string) (Log, error)
}

// Log is the log of one session. One goroutine at a time calls Append. Read may be called at
// any time, also after Close.
type Log interface {
	// Append appends all events or none. An error ends everything in the session, because
	// nothing more can be recorded.
	Append(events []event.Event, d Durability) error
	// Read yields the events after the cursor, in order, up to the last event.
	Read(ctx context.Context, cursor uint64) iter.Seq2[event.Event, error]
	// Close releases the log.
	Close() error
}

// EpochLog is a [Log] that numbers its openings.
type EpochLog interface {
	Log
	// Epoch is the fencing epoch: a number that is greater at each opening. Executors
	// refuse hosts with a smaller number.
	Epoch() uint64
}

// StateLog is a [Log] whose owner keeps a session's state in memory between its openings, so that an
// opening does not read all events.
type StateLog interface {
	Log
	// State returns the state after the first events of the log, and gives it away. The opening reads
	// the events after it. The state is zero if there is none.
	State() event.State
	// Keep receives the state after the last event, when the log was closed and all its events are
	// stored. The log owns it.
	Keep(event.State)
}

// Durability is the kind of failure that appended events must survive.
type Durability string

// The levels of durability.
const (
	// Lazily appended events survive the end of this process.
	Lazily Durability = "lazily"
	// Durably appended events survive the failure of all machines.
	Durably Durability = "durably"
)

// logStore adapts a [Log] to [journal.Store].
type logStore struct{ Log }

// Append implements [journal.Store].
func (s logStore) Append(batch []event.Event, sync journal.Sync) error {
	d := Durably
	if sync == journal.Lazily {
		d = Lazily
	}
	return s.Log.Append(batch, d)
}

// openLog opens a log of the host's Logs.
func (h *Host) openLog(ctx context.Context, id string, c SessionConfig) (*journal.Log, session.Damage, error) {
	log, err := h.config.Logs.OpenLog(ctx, id)
	if err != nil {
		return nil, session.Damage{}, fmt.Errorf("cannot open the log of session %q: %w", id, err)
	}
	state := event.State{Session: id}
	kept, keeps := log.(StateLog)
	if keeps {
		if s := kept.State(); s.Seq > 0 {
			state = s
		}
	}
	state, err = foldAll(ctx, state, log)
	if err == nil && state.Seq == 0 && c.MustExist {
		err = &MissingError{Session: id, err: fmt.Errorf("there is no session %q", id)}
	}
	if err != nil {
		return nil, session.Damage{}, errors.Join(err, log.Close())
	}
	var opts []journal.Option
	if e, ok := log.(EpochLog); ok {
		opts = append(opts, journal.WithEpoch(e.Epoch()))
	}
	if keeps {
		opts = append(opts, journal.WithKeep(kept.Keep))
	}
	return journal.New(logStore{log}, state, opts...), session.Damage{}, nil
}

// foldAll returns the state after all events of a log; state is the state after its first events.
func foldAll(ctx context.Context, state event.State, log Log) (event.State, error) {
	id := state.Session
	for e, err := range log.Read(ctx, state.Seq) {
		if err == nil {
			state, err = event.Fold(state, e)
		}
		if err != nil {
			return state, fmt.Errorf("cannot read the log of session %q: %w", id, err)
		}
	}
	if err := context.Cause(ctx); err != nil { // reading may have ended early
		return state, fmt.Errorf("cannot read the log of session %q: %w", id, err)
	}
	return state, nil
}
