package store

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
)

// Delete removes a session with all that belongs to it.
func Delete(ctx context.Context, dataDir, session string) error {
	if err := (settle.Store{Dir: dataDir}).Delete(ctx, session); err != nil {
		return err
	}
	var errs []error
	started := config.StartedFile(dataDir, session)
	for _, path := range []string{mark(dataDir, session), label(dataDir, session), started} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("session %q is deleted, but not its name: %w", session, err))
		}
	}
	return errors.Join(errs...)
}
