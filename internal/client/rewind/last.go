package rewind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/agents"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/disk"
)

// snapshotPrefix begins the names of snapshots' directories, and snapshotTime is the time in them.
const (
	snapshotPrefix = "rewound-"
	snapshotTime   = "20060102-150405-"
)

// found is a snapshot in a data directory.
type found struct {
	snapshot
	path string
	copy string // the session that the rewind made, which has the snapshot
}

// snapshots returns the snapshots of a data directory, the last one first, and those that cannot
// be read.
func snapshots(dataDir string) (list []found, broken []*unreadableError) {
	dir := filepath.Dir(settle.Store{Dir: dataDir}.OutputDir("session"))
	sessions, _ := os.ReadDir(dir) // without it, there are none
	for _, session := range sessions {
		some, unreadable := snapshotsOf(dataDir, session.Name())
		list, broken = append(list, some...), append(broken, unreadable...)
	}
	sortByTime(list)
	return list, broken
}

// snapshotsOf returns the snapshots of one copy, in no order. A directory without a manifest belongs
// to a rewind that was cut off before it changed a file.
func snapshotsOf(dataDir, session string) (list []found, broken []*unreadableError) {
	dir := settle.Store{Dir: dataDir}.OutputDir(session)
	entries, _ := os.ReadDir(dir) // without it, there are none; it can be a file
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), snapshotPrefix) {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		m, err := readManifest(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			broken = append(broken, &unreadableError{path, err})
		default:
			list = append(list, found{m, path, session})
		}
	}
	return list, broken
}

// sortByTime puts the last snapshot first.
func sortByTime(list []found) {
	slices.SortFunc(list, func(a, b found) int { return cmp.Or(b.At.Compare(a.At), strings.Compare(b.path, a.path)) })
}

// unreadableError says that the manifest of a snapshot cannot be read.
type unreadableError struct {
	path string
	err  error
}

func (e *unreadableError) Error() string { return fmt.Sprintf("cannot read %q: %v", e.path, e.err) }

// isAfter reports whether the snapshot is not older than the time, by its name.
func (e *unreadableError) isAfter(at time.Time) bool {
	name := strings.TrimPrefix(filepath.Base(e.path), snapshotPrefix)
	made, err := time.Parse(snapshotTime, name[:min(len(name), len(snapshotTime))])
	return err != nil || !made.Before(at.UTC().Truncate(time.Second))
}

// LastSnapshot returns the snapshot of the last rewind that changed files in the directory, or in
// the git worktree of a session of the directory. It refuses a rewind that is undone already.
func LastSnapshot(ctx context.Context, dataDir, dir string) (string, error) {
	list, broken := snapshots(dataDir)
	sessions, err := sessionsOf(ctx, dataDir, dir)
	if err != nil {
		return "", err
	}
	list = slices.DeleteFunc(list, func(s found) bool {
		isWorktree := isBelow(s.Dir, agents.WorktreeDir(dataDir)) && sessions[s.copy]
		return !isSame(s.Dir, dir) && !isWorktree
	})
	var last found
	if len(list) > 0 {
		last = list[0]
	}
	for _, err := range broken {
		if err.isAfter(last.At) {
			return "", fmt.Errorf("cannot tell which rewind in %q was the last: %w; "+
				"name the session: settle rewind --undo SESSION", dir, err)
		}
	}
	switch {
	case last.path == "":
		return "", fmt.Errorf("cannot undo a rewind: no rewind has changed files in %q; for a rewind in another "+
			"directory, name its session: settle rewind --undo SESSION", dir)
	case last.madeBy() == kindUndo:
		return "", fmt.Errorf("cannot undo the last rewind in %q: it was undone at %s; to try it once more:\n"+
			"  settle rewind --undo %s", dir, last.At.Local().Format("2006-01-02 15:04"), last.copy)
	}
	return last.path, nil
}

// SnapshotOf returns the snapshot of the rewind that made the session; for another session, of the
// last rewind that began from it and changed files.
func SnapshotOf(dataDir, session string) (string, error) {
	list, _ := snapshots(dataDir)
	list = slices.DeleteFunc(list, func(s found) bool { return s.madeBy() == kindUndo })
	n := slices.IndexFunc(list, func(s found) bool { return s.copy == session })
	if n < 0 {
		n = slices.IndexFunc(list, func(s found) bool { return s.Session == session })
	}
	if n < 0 {
		return "", fmt.Errorf("cannot undo a rewind: none of session %q has changed files", session)
	}
	return list[n].path, nil
}

// sessionsOf returns the sessions of the directory.
func sessionsOf(ctx context.Context, dataDir, dir string) (map[string]bool, error) {
	list, err := store.List(ctx, dataDir, catalogue.Query{Dir: dir})
	all := make(map[string]bool, len(list))
	for _, e := range list {
		all[e.Session] = true
	}
	return all, err
}

// isSame reports whether two paths lead to the same directory.
func isSame(a, b string) bool { return a == b || resolved(a) == resolved(b) }

// isBelow reports whether a path is below a directory.
func isBelow(path, dir string) bool {
	dir, path = resolved(dir), resolved(path)
	return path != dir && disk.Within(dir, path)
}

// resolved returns the path without links; the path itself if it leads nowhere.
func resolved(path string) string {
	if real, err := disk.Resolve(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}
