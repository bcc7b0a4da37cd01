package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/journal"
)

// Fork copies a session to a new one, with the times of the original. Work in progress
// stays in the original; in the copy it is ended.
func Fork(ctx context.Context, dataDir, from, to string) error {
	return fork(ctx, dataDir, from, to, "")
}

// ForkBefore copies the part of a session before a turn. Inputs that waited at that point
// are dropped in the copy.
func ForkBefore(ctx context.Context, dataDir, from, to, turn string) error {
	return fork(ctx, dataDir, from, to, turn)
}

func fork(ctx context.Context, dataDir, from, to, turn string) error {
	events, err := copied(ctx, dataDir, from, turn)
	if err != nil {
		return fmt.Errorf("cannot read session %q to copy it: %w", from, err)
	}
	err = create(ctx, dataDir, to, events, time.Now, func(log *journal.Log, dir string) error {
		if turn != "" {
			if err := log.Update(dropped); err != nil {
				return err
			}
		}
		if err := log.Update(
			endings(event.Copier, "the session was copied during this turn, which continues in the original"),
		); err != nil {
			return err
		}
		return copyContents(dataDir, from, dir, to)
	})
	if err != nil {
		return fmt.Errorf("cannot copy session %q: %w", from, err)
	}
	if data, err := os.ReadFile(config.StartedFile(dataDir, from)); err == nil && isPlain(to) {
		return write(config.StartedFile(dataDir, to), string(data))
	}
	return nil
}

// unfinished begins the names of directories in which sessions are made.
const unfinished = ".new-"

// create makes a session of events, with their times, and has the rest be done to it, in a
// data directory of its own, at the times of after. The session appears whole or not at all,
// even if settle is killed.
func create(
	ctx context.Context, dataDir, to string, events []event.Event, after func() time.Time,
	rest func(log *journal.Log, dir string) error,
) error {
	if _, err := journal.Load(dataDir, to); err == nil {
		return fmt.Errorf("session %q already exists", to)
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return err
	}
	removeUnfinished(dataDir)
	dir, err := os.MkdirTemp(dataDir, unfinished)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	next := 0
	clock := func() time.Time { // called once for each event
		if next++; next <= len(events) {
			return events[next-1].At
		}
		return after()
	}
	log, _, err := journal.Open(ctx, journal.Options{Dir: dir, Session: to, Clock: clock})
	if err != nil {
		return err
	}
	err = log.Update(func(event.State) []event.Event { return events })
	if err == nil {
		err = rest(log, dir)
	}
	if err := errors.Join(err, log.Close(ctx), context.Cause(ctx)); err != nil {
		return err
	}
	kept, output := settle.Store{Dir: dir}.OutputDir(to), settle.Store{Dir: dataDir}.OutputDir(to)
	if err := os.MkdirAll(filepath.Dir(output), 0o700); err != nil {
		return err
	}
	if err := os.Rename(kept, output); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	err = journal.Move(dir, dataDir, to)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("session %q already exists", to)
	}
	return err
}

// unfinishedFor bounds the time for which a session can be under construction.
const unfinishedFor = 24 * time.Hour

// removeUnfinished removes files of processes that were killed.
func removeUnfinished(dataDir string) {
	all, _ := filepath.Glob(filepath.Join(dataDir, unfinished+"*"))
	for _, dir := range all {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && time.Since(info.ModTime()) > unfinishedFor {
			_ = os.RemoveAll(dir)
		}
	}
}

// copyContents copies the stored file contents, so that the copy can restore files from
// before its own beginning, also after the original is deleted.
func copyContents(dataDir, from, dir, to string) error {
	return disk.SessionContents(settle.Store{Dir: dataDir}.OutputDir(from)).CopyTo(
		disk.SessionContents(settle.Store{Dir: dir}.OutputDir(to)),
	)
}

// copied returns a session's events without the deltas of ended items: all events, or the events
// before the turn.
func copied(ctx context.Context, dataDir, from, before string) ([]event.Event, error) {
	found := before == ""
	var all, out []event.Event
	var state event.State
	for e, err := range journal.Read(ctx, dataDir, from, 0) {
		if err != nil {
			return nil, err
		}
		if _, starts := e.Data.(event.TurnStarted); starts && before != "" && e.Turn == before {
			found = true
			break
		}
		if state, err = event.Fold(state, e); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	if !found {
		return nil, fmt.Errorf("it has no turn %q", before)
	}
	running := ""
	if t := state.Running(); t != nil {
		running = t.ID
	}
	for _, e := range all {
		if _, isDelta := e.Data.(event.ItemDelta); !isDelta || e.Turn == running {
			out = append(out, e)
		}
	}
	return out, nil
}

// dropped takes back the inputs that wait.
func dropped(s event.State) (out []event.Event) {
	for _, in := range s.Waiting {
		out = append(out, event.Event{By: event.Copier, Data: event.InputDropped{Input: in.ID}})
	}
	return out
}

// endings returns the events that end a copy of an unfinished log.
func endings(by, message string) func(event.State) []event.Event {
	return func(s event.State) []event.Event {
		if !s.Open {
			return nil
		}
		cause := event.Abort(event.Shutdown, by)
		cause.Message = message
		return append(
			event.Closings(s, cause),
			event.Event{By: "host", Data: event.SessionClosed{Reason: event.Shutdown, Message: message}},
		)
	}
}
