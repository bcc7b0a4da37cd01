package appserver

import (
	"errors"
	"path/filepath"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/journal"
)

// disk has the stored threads. Other processes can write them at the same time.
type disk struct {
	catalogue.Shelf
}

// load returns the state of a session; of a damaged log, the readable part.
func (d *disk) load(id string) (event.State, error) {
	state, _, err := d.Load(id)
	return state, notFound(id, err)
}

// notFound returns Codex's error, whose text clients recognize, for an unknown thread or
// one that another process holds.
func notFound(id string, err error) error {
	var none *journal.MissingError
	var name *journal.NameError
	var held *journal.HeldError
	switch {
	case errors.As(err, &none), errors.As(err, &name):
		return invalid("no rollout found for thread id %s", id)
	case errors.As(err, &held):
		return invalid("thread %s already has an active writer: %v", id, err)
	}
	return err
}

// path returns the path of a thread's log.
func (d *disk) path(id string) string { return filepath.Join(d.Dir, "sessions", id+".log") }
