package mcp

import (
	"context"
	"errors"
	"sync"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/journal"
)

// kept is the sessions on disk, read beside whoever writes them.
type kept struct {
	dir func() string // "" if none are kept

	mu        sync.Mutex // guards catalogue, which is for one at a time
	catalogue *catalogue.Catalogue
}

// list returns the sessions that are not open here, those that changed last
// first.
func (k *kept) list(ctx context.Context, open func(session string) bool, most int) ([]catalogue.Entry, error) {
	dir := k.dir()
	if dir == "" {
		return nil, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.catalogue == nil {
		c, err := catalogue.Open(ctx, dir)
		if err := unlessWarning(err); err != nil {
			return nil, err
		}
		k.catalogue = c
	}
	all, err := k.catalogue.List(ctx, catalogue.Query{Except: open, Limit: most})
	return all, unlessWarning(err)
}

// unlessWarning drops the error of a catalogue that cannot be used: it is made
// do without.
func unlessWarning(err error) error {
	if warning := (*catalogue.Warning)(nil); errors.As(err, &warning) {
		return nil
	}
	return err
}

// first returns the session's first event, which says where it works. Of a
// log without one it is empty.
func (k *kept) first(ctx context.Context, session string) (event.Event, error) {
	dir := k.dir()
	if dir == "" {
		return event.Event{}, &journal.MissingError{Session: session}
	}
	for e, err := range journal.Read(ctx, dir, session, 0) {
		if damage := (*journal.DamageError)(nil); errors.As(err, &damage) {
			break
		}
		return e, err
	}
	return event.Event{}, nil
}

// load returns the state of a session that is not open here. Of a damaged log
// it is what can be read.
func (k *kept) load(session string) (event.State, error) {
	dir := k.dir()
	if dir == "" {
		return event.State{}, &journal.MissingError{Session: session}
	}
	state, err := journal.Load(dir, session)
	if damage := (*journal.DamageError)(nil); errors.As(err, &damage) {
		return state, nil
	}
	return state, err
}

func (k *kept) close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.catalogue == nil {
		return nil
	}
	err := k.catalogue.Close()
	k.catalogue = nil
	return unlessWarning(err)
}
