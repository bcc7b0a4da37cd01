package store

import (
	"cmp"
	"context"
	"errors"

	"github.com/settle-agent/settle/internal/catalogue"
)

// List returns the sessions that the query asks for. It does without a catalogue
// that cannot be used.
func List(ctx context.Context, dataDir string, q catalogue.Query) (list []catalogue.Entry, err error) {
	shelf := catalogue.Shelf{Dir: dataDir}
	defer func() { err = errors.Join(err, shelf.Close()) }()
	return shelf.List(ctx, q)
}

// Titled is List, with the name that a person gave a session as its title.
func Titled(ctx context.Context, dataDir string, q catalogue.Query) ([]catalogue.Entry, error) {
	list, err := List(ctx, dataDir, q)
	for n, e := range list {
		list[n].Title = cmp.Or(Name(dataDir, e.Session), e.Title)
	}
	return list, err
}
