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

// Logs keeps the logs of sessions elsewhere than in files, such as in a database
// that several machines share.
type Logs interface {
	// OpenLog takes over the log of a session, which is empty if there is none
	// yet. From now on, whoever had it open before can append nothing. The
	// session closes it.
	OpenLog(ctx context.Context, session string) (Log, error)
}

// Log is the log of one session. Its Append is called by one goroutine at a time;
// Read may be called at any time, also after Close.
type Log interface {
	// Append adds the events after those that it has, all or none. An error ends
	// what runs in the session: nothing more can be written down.
	Append(events []event.Event, d Durability) error
	// Read yields the events after the cursor, in order, up to the end that it finds.
	Read(ctx context.Context, cursor uint64) iter.Seq2[event.Event, error]
	// Close releases what the log holds.
	Close() error
}

// EpochLog is a [Log] that numbers its openings.
type EpochLog interface {
	Log
	// Epoch is greater than that of whoever had the log open before. Other machines
	// that work for the session obey the greatest one that they know.
	Epoch() uint64
}

// Durability says what events survive when Append returns.
type Durability string

// The values.
const (
	// Lazily is the end of this process.
	Lazily Durability = "lazily"
	// Durably is that of all machines.
	Durably Durability = "durably"
)

// logStore is a [Log] as the journal wants it.
type logStore struct{ Log }

// Append implements [journal.Store].
func (s logStore) Append(batch []event.Event, sync journal.Sync) error {
	d := Durably
	if sync == journal.Lazily {
		d = Lazily
	}
	return s.Log.Append(batch, d)
}

// openLog opens a log that the host's Logs keep.
func (h *Host) openLog(ctx context.Context, id string, c SessionConfig) (*journal.Log, session.Damage, error) {
	log, err := h.config.Logs.OpenLog(ctx, id)
	if err != nil {
		return nil, session.Damage{}, fmt.Errorf("cannot open the log of session %q: %w", id, err)
	}
	state, err := foldAll(ctx, id, log)
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
	return journal.New(logStore{log}, state, opts...), session.Damage{}, nil
}

// foldAll returns what the events of a log amount to.
func foldAll(ctx context.Context, id string, log Log) (event.State, error) {
	state := event.State{Session: id}
	for e, err := range log.Read(ctx, 0) {
		if err == nil {
			state, err = event.Fold(state, e)
		}
		if err != nil {
			return state, fmt.Errorf("cannot read the log of session %q: %w", id, err)
		}
	}
	if err := context.Cause(ctx); err != nil { // the reading may have ended early
		return state, fmt.Errorf("cannot read the log of session %q: %w", id, err)
	}
	return state, nil
}
