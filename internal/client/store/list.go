package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/settle-agent/settle/internal/catalogue"
)

// List returns the sessions that the query asks for. It does without a catalogue
// that cannot be used.
func List(ctx context.Context, dataDir string, q catalogue.Query) (list []catalogue.Entry, err error) {
	shelf := catalogue.Shelf{Dir: dataDir}
	defer func() { err = errors.Join(err, shelf.Close()) }()
	return shelf.List(ctx, q)
}

// Last returns the session of the working directory that changed last. A session without an input, such
// as the copy of a rewind to before the first input, counts only if there is no other: a terminal that ends
// in one names the session before it.
func Last(ctx context.Context, dataDir, dir string) (string, error) {
	list, err := List(ctx, dataDir, catalogue.Query{Dir: dir})
	if err != nil {
		return "", err
	}
	empty := ""
	for _, e := range list {
		switch {
		case e.Problem != "":
		case !e.IsEmpty():
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
