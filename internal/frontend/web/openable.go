package web

import (
	"context"
	"fmt"

	"github.com/settle-agent/settle/internal/catalogue"
)

// openable refuses a session that is not there, or that belongs to another
// directory than the host's: its tools would work in the wrong place.
func openable(ctx context.Context, kept *catalogue.Shelf, session, workDir string) error {
	dir, err := kept.WorkDir(ctx, session)
	if err != nil {
		return err
	}
	if dir != "" && dir != workDir {
		return newProblem(409, "other-directory", fmt.Sprintf(
			"session %q works in %q, and this server in %q; nothing was done; start \"settle serve\" there to continue it",
			session,
			dir,
			workDir,
		))
	}
	return nil
}
