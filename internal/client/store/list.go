package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/journal"
)

// List returns the sessions that the query asks for. It does without a catalogue
// that cannot be used.
func List(ctx context.Context, dataDir string, q catalogue.Query) (list []catalogue.Entry, err error) {
	shelf := catalogue.Shelf{Dir: dataDir}
	defer func() { err = errors.Join(err, shelf.Close()) }()
	return shelf.List(ctx, q)
}

// Last returns the session of the working directory that changed last. A session without an input
// counts only if there is no other, or if it is the copy of a rewind. The files of such a copy are from
// before the first input: the history of the original would be wrong about them.
func Last(ctx context.Context, dataDir, dir string) (string, error) {
	list, err := List(ctx, dataDir, catalogue.Query{Dir: dir})
	if err != nil {
		return "", err
	}
	empty := ""
	for _, e := range list {
		switch {
		case e.Problem != "":
		case !e.IsEmpty() || isRewound(ctx, dataDir, e.Session):
			return e.Session, nil
		case empty == "":
			empty = e.Session
		}
	}
	if empty != "" {
		return empty, nil
	}
	return "", fmt.Errorf("there is no session in %q to continue; \"settle sessions\" lists all sessions", dir)
}

// isRewound reports whether a session is the copy of a rewind: it took back the input of the turn
// before which it ends.
func isRewound(ctx context.Context, dataDir, session string) bool {
	for e, err := range journal.Read(ctx, dataDir, session, 0) {
		if err != nil {
			return false
		}
		if _, isDropped := e.Data.(event.InputDropped); isDropped && e.By == event.Copier {
			return true
		}
	}
	return false
}
