package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/atif"
	"github.com/settle-agent/settle/internal/journal"
)

// Import makes a session of a file: what settle sessions export prints, or a trajectory
// of any agent (ATIF). If a process had that session open, it was ended in the new one.
// Opened says where the steps of a trajectory are to have happened.
func Import(ctx context.Context, dataDir, file, to string, opened event.SessionOpened) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("cannot import a session: %w", err)
	}
	events, err := eventsOf(raw, to, opened)
	if err != nil {
		return fmt.Errorf("cannot import %q: %w", file, err)
	}
	last := func() time.Time { return events[len(events)-1].At }
	err = create(ctx, dataDir, to, events, last, func(log *journal.Log, _ string) error {
		return log.Update(endings("import", "the file ends here"))
	})
	if err != nil {
		return fmt.Errorf("cannot import %q: %w", file, err)
	}
	return nil
}

// eventsOf reads a file of either kind.
func eventsOf(raw []byte, to string, opened event.SessionOpened) ([]event.Event, error) {
	var first struct {
		SchemaVersion string `json:"schema_version"`
		Seq           uint64 `json:"seq"`
	}
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	err := json.NewDecoder(bytes.NewReader(raw)).Decode(&first)
	switch {
	case err == nil && first.SchemaVersion != "":
		return atif.Events(raw, to, opened, time.Now())
	case err == nil && first.Seq == 1:
		return logged(raw)
	}
	wrong := errors.New("it is neither a log, as settle sessions export prints it, nor a trajectory in the format ATIF")
	if err != nil {
		wrong = fmt.Errorf("%w: %w", wrong, err)
	}
	return nil, wrong
}

// logged reads a log of one event a line.
func logged(raw []byte) (events []event.Event, err error) {
	var state event.State
	for line := range bytes.Lines(raw) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e event.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("event %d: %w", state.Seq+1, err)
		}
		if state, err = event.Fold(state, e); err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	t := state.Running()
	if t == nil {
		return events, nil
	}
	for _, i := range t.Items { // of a call that was ready nobody knows whether it started after that
		if i.Type() != event.ToolCall || i.Status != event.ItemOpen {
			continue
		}
		e := event.Event{V: event.Version, Session: state.Session, Seq: state.Seq + 1, At: state.Updated, Turn: t.ID, Attempt: i.Attempt, Item: i.ID, Data: event.CallStarted{}}
		if next, err := event.Fold(state, e); err == nil { // else it could not
			state, events = next, append(events, e)
		}
	}
	return events, nil
}
