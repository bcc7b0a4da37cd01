package rewind

import (
	"context"
	"fmt"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/journal"
)

// LastSession returns the session of the working directory that changed last. A session without an
// input counts only if there is no other, or if it is the copy of a rewind that is in force. The
// files of such a copy are from before the first input: the history of the original would be wrong
// about them.
func LastSession(ctx context.Context, dataDir, dir string) (string, error) {
	list, err := store.List(ctx, dataDir, catalogue.Query{Dir: dir})
	if err != nil {
		return "", err
	}
	empty := ""
	for _, e := range list {
		switch {
		case e.Problem != "":
		case !e.IsEmpty() || isInForce(ctx, dataDir, e.Session):
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

// isInForce reports whether a session is the copy of a rewind that was not undone. The copy took
// back the input of the turn before which it ends.
func isInForce(ctx context.Context, dataDir, session string) bool {
	for e, err := range journal.Read(ctx, dataDir, session, 0) {
		if err != nil {
			return false
		}
		if _, isDropped := e.Data.(event.InputDropped); isDropped && e.By == event.Copier {
			list, _ := snapshotsOf(dataDir, session)
			sortByTime(list)
			return len(list) == 0 || list[0].madeBy() == kindRewind
		}
	}
	return false
}
