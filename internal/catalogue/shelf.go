package catalogue

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
)

// Shelf reads the sessions of a data directory while other processes write them.
// Several goroutines can use it. It opens the catalogue at the first use. Its methods
// ignore a [Warning]: a list without the database takes longer and is complete.
type Shelf struct {
	// Dir is the data directory; "" has no sessions.
	Dir string

	mu   sync.Mutex // guards open
	open *Catalogue
}

// List is [Catalogue.List].
func (s *Shelf) List(ctx context.Context, q Query) ([]Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if exists, err := s.opened(ctx); !exists {
		return nil, err
	}
	list, err := s.open.List(ctx, q)
	return list, unlessWarning(err)
}

// Requests is [Catalogue.Requests].
func (s *Shelf) Requests(ctx context.Context, since time.Time) (out []Request, damaged int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if exists, err := s.opened(ctx); !exists {
		return nil, 0, err
	}
	out, damaged, err = s.open.Requests(ctx, since)
	return out, damaged, unlessWarning(err)
}

// opened opens the catalogue; exists is false if there is no data directory: listing must
// not create one.
func (s *Shelf) opened(ctx context.Context) (exists bool, err error) {
	if s.Dir == "" {
		return false, nil
	}
	if s.open != nil {
		return true, nil
	}
	if _, err := os.Stat(s.Dir); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	c, err := Open(ctx, s.Dir)
	if err := unlessWarning(err); err != nil {
		return false, err
	}
	s.open = c
	return true, nil
}

// Load returns the state of a session, or a [journal.MissingError]. For a damaged log it
// returns the state of the readable part, and isWhole is false.
func (s *Shelf) Load(session string) (state event.State, isWhole bool, err error) {
	if s.Dir == "" {
		return event.State{}, false, &journal.MissingError{Session: session}
	}
	state, err = journal.Load(s.Dir, session)
	if damage := (*journal.DamageError)(nil); errors.As(err, &damage) {
		return state, false, nil
	}
	return state, err == nil, err
}

// WorkDir returns the working directory of a session without reading its whole log, or a
// [journal.MissingError]. The directory is empty if the log does not contain it.
func (s *Shelf) WorkDir(ctx context.Context, session string) (string, error) {
	if s.Dir == "" {
		return "", &journal.MissingError{Session: session}
	}
	for e, err := range journal.Read(ctx, s.Dir, session, 0) {
		if damage := (*journal.DamageError)(nil); errors.As(err, &damage) {
			break
		}
		opened, _ := e.Data.(event.SessionOpened)
		return opened.Dir, err
	}
	return "", nil
}

// Close closes the open catalogue. The shelf remains usable.
func (s *Shelf) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		return nil
	}
	err := s.open.Close()
	s.open = nil
	return unlessWarning(err)
}

func unlessWarning(err error) error {
	if warning := (*Warning)(nil); errors.As(err, &warning) {
		return nil
	}
	return err
}
