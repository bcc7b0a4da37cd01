package rewind

import (
	"context"
	"fmt"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/journal"
)

// LastSession returns the session of the working directory that changed last. The copy of a rewind
// that was undone does not count until it gets an input: the original's history fits the files. A
// session without an input counts only if there is no other, or if it is the copy of a rewind in
// force, whose files are from before the first input.
func LastSession(ctx context.Context, dataDir, dir string) (string, error) {
	list, err := store.List(ctx, dataDir, catalogue.Query{Dir: dir})
	if err != nil {
		return "", err
	}
	empty := ""
	for _, e := range list {
		switch {
		case e.Problem != "" || isUndone(ctx, dataDir, e.Session):
		case !e.IsEmpty() || isUnusedCopy(ctx, dataDir, e.Session):
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

// isUndone reports whether a session is the unused copy of a rewind that was undone.
func isUndone(ctx context.Context, dataDir, session string) bool {
	list, _ := snapshotsOf(dataDir, session)
	sortByTime(list)
	return len(list) > 0 && list[0].madeBy() == kindUndo && isUnusedCopy(ctx, dataDir, session)
}

// isUnusedCopy reports whether a session is the copy of a rewind and has got no input since. The copy
// took back the input of the turn before which it ends.
func isUnusedCopy(ctx context.Context, dataDir, session string) bool {
	isUnused := false
	for e, err := range journal.Read(ctx, dataDir, session, 0) {
		if err != nil {
			return false
		}
		switch e.Data.(type) {
		case event.InputDropped:
			isUnused = isUnused || e.By == event.Copier
		case event.InputAccepted:
			isUnused = false
		}
	}
	return isUnused
}
