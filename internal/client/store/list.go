package store

import (
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
