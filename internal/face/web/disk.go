package web

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/journal"
)

// disk is the sessions that are kept, read beside whoever writes them.
type disk struct {
	dir string // "" if none are kept

	mu        sync.Mutex // guards catalogue, which is for one at a time
	catalogue *catalogue.Catalogue
}

// list returns what is known of the sessions that are not open.
func (d *disk) list(ctx context.Context, open func(session string) bool) ([]catalogue.Entry, error) {
	if d.dir == "" {
		return nil, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.catalogue == nil {
		c, err := catalogue.Open(ctx, d.dir)
		if err := unlessWarning(err); err != nil {
			return nil, err
		}
		d.catalogue = c
	}
	list, err := d.catalogue.List(ctx, catalogue.Query{Except: open})
	return list, unlessWarning(err)
}

// unlessWarning drops the error of a catalogue that cannot be used: it is made
// do without.
func unlessWarning(err error) error {
	if warning := (*catalogue.Warning)(nil); errors.As(err, &warning) {
		return nil
	}
	return err
}

func (d *disk) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.catalogue == nil {
		return nil
	}
	err := d.catalogue.Close()
	d.catalogue = nil
	return unlessWarning(err)
}

// load returns the state of a session, or a [journal.MissingError]. Of a
// damaged log it is what can be read.
func (d *disk) load(session string) (event.State, error) {
	state, _, err := d.inspect(session)
	return state, err
}

// inspect is load, and reports whether the log is whole.
func (d *disk) inspect(session string) (state event.State, isWhole bool, err error) {
	if d.dir == "" {
		return event.State{}, false, &journal.MissingError{Session: session}
	}
	state, err = journal.Load(d.dir, session)
	if damage := (*journal.DamageError)(nil); errors.As(err, &damage) {
		return state, false, nil
	}
	return state, err == nil, err
}

// first returns the session's first event: what there is to know without
// reading all of it. Of a log without one it is empty.
func (d *disk) first(ctx context.Context, session string) (event.Event, error) {
	if d.dir == "" {
		return event.Event{}, &journal.MissingError{Session: session}
	}
	for e, err := range journal.Read(ctx, d.dir, session, 0) {
		if damage := (*journal.DamageError)(nil); errors.As(err, &damage) {
			break
		}
		return e, err
	}
	return event.Event{}, nil
}

// openable refuses a session that is not there, or that belongs to another
// directory than the host's: its tools would work in the wrong place.
func (d *disk) openable(ctx context.Context, session, workDir string) error {
	first, err := d.first(ctx, session)
	if err != nil {
		return err
	}
	if opened, ok := first.Data.(event.SessionOpened); ok && opened.Dir != workDir {
		return newProblem(409, "other-directory", fmt.Sprintf(
			"session %q works in %q, and this server in %q; nothing was done; start \"settle serve\" there to go on with it", session, opened.Dir, workDir))
	}
	return nil
}
