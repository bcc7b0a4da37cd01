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

// Last returns the session of the working directory that changed last.
func Last(ctx context.Context, dataDir, dir string) (string, error) {
	list, err := List(ctx, dataDir, catalogue.Query{Dir: dir})
	if err != nil {
		return "", err
	}
	for _, e := range list {
		if e.Problem == "" {
			return e.Session, nil
		}
	}
	return "", fmt.Errorf("there is no session in %q to continue; \"settle sessions\" lists all sessions", dir)
}
