package store

import (
	"context"
	"fmt"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/journal"
)

// Delete removes a session with all that belongs to it. Another session can have the same chosen
// name as soon as the log is gone, so the log goes last.
func Delete(ctx context.Context, dataDir, session string) error {
	return journal.Delete(
		ctx, dataDir, session, settle.Store{Dir: dataDir}.OutputDir(session), mark(dataDir, session),
		label(dataDir, session), config.StartedFile(dataDir, session),
	)
}

// ResolveWhole is [Resolve] for a command that changes or deletes without a question: a shortened
// id must have as many characters as settle shows. One or two characters begin almost every id.
func ResolveWhole(dataDir, name string) (string, error) {
	id, err := Resolve(dataDir, name)
	if err == nil && id != name && len(name) < minShown {
		return "", fmt.Errorf(
			"%q is too short to name session %q in a command that does not ask; use at least %d characters of the id",
			name, id, minShown,
		)
	}
	return id, err
}
