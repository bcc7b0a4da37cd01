package settle

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"path/filepath"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
)

// Store reads the sessions in a data directory, open or not. It takes no lock: this process or
// another may write at the same time.
type Store struct {
	// Dir is the data directory, as in [Config].
	Dir string
}

// Stored is a session in a [Store].
type Stored struct {
	ID      string
	Size    int64 // of its log, in bytes
	Updated time.Time
}

// List returns the kept sessions, in the order of their ids. A missing data directory has
// none.
func (s Store) List() ([]Stored, error) {
	entries, err := journal.List(s.Dir)
	out := make([]Stored, 0, len(entries))
	for _, e := range entries {
		out = append(out, Stored{e.Session, e.Size, e.Updated})
	}
	return out, err
}

// Events yields the session's written events after the cursor, 0 for all. The last error may
// be a [*MissingError], a [*NewerError] or a [*DamagedError].
func (s Store) Events(ctx context.Context, id string, cursor uint64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for e, err := range journal.Read(ctx, s.Dir, id, cursor) {
			if err != nil {
				err = typedError(id, err)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// State returns the state after the session's written events. With a [*DamagedError], it
// returns the state before the damage.
func (s Store) State(id string) (event.State, error) {
	state, err := journal.Load(s.Dir, id)
	if err != nil {
		err = typedError(id, err)
	}
	return state, err
}

// Delete removes a session and the outputs of its commands. If the session is in use, the
// error is a [*LockedError].
func (s Store) Delete(ctx context.Context, id string) error {
	if err := journal.Delete(ctx, s.Dir, id, s.OutputDir(id)); err != nil {
		return typedError(id, err)
	}
	return nil
}

// OutputDir returns the directory of the complete outputs of a session's commands.
func (s Store) OutputDir(id string) string { return filepath.Join(s.Dir, "output", id) }

// Marker returns a text that identifies a session's processes on this machine; it is in the
// environment of each command. Sessions of different data directories may have the same id.
func (s Store) Marker(id string) string {
	place := sha256.Sum256([]byte(s.Dir))
	return fmt.Sprintf("%x/%s", place[:6], id)
}
