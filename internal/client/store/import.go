package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/atif"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/journal"
)

// Limits of imported files, in bytes.
const (
	maxTrajectory = 64 << 20
	maxLogLine    = 64 << 20
	maxLog        = 512 << 20
)

// Import makes a session from a file: the output of settle sessions export, or a trajectory
// of any agent (ATIF). A session that a process had open is ended in the copy. opened has
// the directory and settings for the steps of a trajectory.
func Import(ctx context.Context, dataDir, name, to string, opened event.SessionOpened) error {
	file, _, err := disk.OpenRegular(name)
	if err != nil {
		return fmt.Errorf("cannot import a session: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	events, err := eventsOf(file, to, opened)
	if err != nil {
		return fmt.Errorf("cannot import %q: %w", name, err)
	}
	markImported(events)
	last := func() time.Time { return events[len(events)-1].At }
	err = create(ctx, dataDir, to, events, last, func(log *journal.Log, _ string) error {
		return log.Update(endings("import", "the file ends here"))
	})
	if err != nil {
		return fmt.Errorf("cannot import %q: %w", name, err)
	}
	return nil
}

// markImported marks all events as imported.
func markImported(events []event.Event) {
	for n := range events {
		if opened, ok := events[n].Data.(event.SessionOpened); ok {
			opened.Imported = true
			events[n].Data = opened
		}
	}
}

// eventsOf reads a file of either kind.
func eventsOf(file io.ReadSeeker, to string, opened event.SessionOpened) ([]event.Event, error) {
	var first struct {
		SchemaVersion string `json:"schema_version"`
		Seq           uint64 `json:"seq"`
	}
	start := &io.LimitedReader{R: file, N: max(maxTrajectory, maxLogLine)}
	err := json.NewDecoder(withoutBOM(start)).Decode(&first)
	if err != nil && start.N <= 0 {
		return nil, fmt.Errorf(
			"its first %d MiB are not one JSON value: it is no log and no trajectory, or too large for one",
			maxLogLine>>20,
		)
	}
	if err == nil && (first.SchemaVersion != "" || first.Seq == 1) {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		if first.SchemaVersion == "" {
			return logged(withoutBOM(file))
		}
		raw, err := io.ReadAll(io.LimitReader(withoutBOM(file), maxTrajectory+1))
		if err == nil && len(raw) > maxTrajectory {
			err = fmt.Errorf("a trajectory can have %d MiB, and this one has more", maxTrajectory>>20)
		}
		if err != nil {
			return nil, err
		}
		return atif.Events(raw, to, opened, time.Now())
	}
	wrong := errors.New("it is neither a log, as settle sessions export prints it, nor a trajectory in the format ATIF")
	if err != nil {
		wrong = fmt.Errorf("%w: %w", wrong, err)
	}
	return nil, wrong
}

// withoutBOM returns a reader of the same text without the byte order mark that some
// editors put in front of it.
func withoutBOM(from io.Reader) *bufio.Reader {
	r := bufio.NewReaderSize(from, 64<<10)
	if mark, _ := r.Peek(len(bom)); string(mark) == bom {
		_, _ = r.Discard(len(bom)) // they are in the buffer
	}
	return r
}

const bom = "\ufeff"

// logged reads a log of one event a line.
func logged(from io.Reader) (events []event.Event, err error) {
	var state event.State
	left := &io.LimitedReader{R: from, N: maxLog + 1}
	lines := bufio.NewScanner(left)
	lines.Buffer(nil, maxLogLine)
	for lines.Scan() {
		line := lines.Bytes()
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if left.N <= 0 {
			break // the line may be cut
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
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("event %d: its line has more than %d MiB", state.Seq+1, maxLogLine>>20)
	case err != nil:
		return nil, err
	case left.N <= 0:
		return nil, fmt.Errorf("a log can have %d MiB, and this one has more", maxLog>>20)
	}
	return closedCalls(state, events), nil
}

// closedCalls adds the endings that a log cut off in a turn lacks: whether a ready call
// started after that point is unknown.
func closedCalls(state event.State, events []event.Event) []event.Event {
	t := state.Running()
	if t == nil {
		return events
	}
	for _, i := range t.Items {
		if i.Type() != event.ToolCall || i.Status != event.ItemOpen {
			continue
		}
		e := event.Event{
			V: event.Version, Session: state.Session, Seq: state.Seq + 1, At: state.Updated, Turn: t.ID,
			Attempt: i.Attempt, Item: i.ID, Data: event.CallStarted{},
		}
		if next, err := event.Fold(state, e); err == nil { // else it could not
			state, events = next, append(events, e)
		}
	}
	return events
}
