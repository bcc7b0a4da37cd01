package journal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
)

// Entry is a session in a data directory.
type Entry struct {
	Session string
	Path    string
	Size    int64 // bytes
	Updated time.Time
}

// List returns the sessions with a log in the data directory, sorted by id. A missing data
// directory has none.
func List(dir string) ([]Entry, error) {
	files, err := os.ReadDir(sessionsDir(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list sessions: %w", err)
	}
	var out []Entry
	for _, f := range files {
		session, ok := strings.CutSuffix(f.Name(), logSuffix)
		if !ok || !validName(session) {
			continue
		}
		info, err := f.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // deleted meanwhile, or another kind of file
		}
		out = append(out, Entry{
			Session: session, Path: filepath.Join(sessionsDir(dir), f.Name()),
			Size: info.Size(), Updated: info.ModTime(),
		})
	}
	return out, nil
}

// Move moves the log of a closed session to another data directory on the same file system. If
// the session exists there, the error is [os.ErrExist].
func Move(from, to, session string) error {
	old, err := logPath(from, session)
	if err != nil {
		return err
	}
	path, _ := logPath(to, session) // the name is valid, see above
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return &AccessError{Path: path, Err: err}
	}
	err = os.Link(old, path) // unlike a rename, a link replaces nothing
	switch {
	case err == nil:
		err = os.Remove(old)
	case !disk.Exists(path): // some file systems have no links
		err = os.Rename(old, path)
	}
	if err != nil {
		return &AccessError{Path: path, Err: err}
	}
	_ = os.Rename(snapshotPath(old), snapshotPath(path)) // without it, opening takes longer
	return nil
}

// Delete removes the session's log and before it, while no other process can open the session, its
// snapshot, the parts that were cut from it, and other files and directories that belong to it. The
// log goes last: without it, another session can have the name. For a session in use, the error is
// a [HeldError].
func Delete(ctx context.Context, dir, session string, belongings ...string) error {
	path, err := logPath(dir, session)
	if err != nil {
		return err
	}
	o := Options{Dir: dir, Session: session, MustExist: true}.withDefaults()
	f, err := o.acquire(ctx, path)
	if err != nil {
		return err
	}
	torn, err := filepath.Glob(globEscape(path) + tornSuffix + "*")
	if err != nil {
		return errors.Join(fmt.Errorf("cannot delete session %q: %w", session, err), f.Close())
	}
	if snapshot := snapshotPath(path); disk.Exists(snapshot) {
		torn = append(torn, snapshot)
	}
	for _, path := range belongings {
		err = errors.Join(err, os.RemoveAll(path))
	}
	for _, path := range torn {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil { // the log stays, so that a second attempt finds the session
		return errors.Join(fmt.Errorf("cannot delete session %q: %w", session, err), f.Close())
	}
	if err := removeLocked(f, path); err != nil {
		return fmt.Errorf("cannot delete session %q: %w", session, err)
	}
	return nil
}

// globEscape makes a path match only itself.
func globEscape(path string) string {
	if os.PathSeparator == '\\' {
		return path // Windows has no escapes, and needs one only for [
	}
	return strings.NewReplacer(`\`, `\\`, `[`, `\[`, `*`, `\*`, `?`, `\?`).Replace(path)
}

// Read returns the session's events after the cursor up to the current end, without the lock:
// another process can be writing. An incomplete record at the end is no error; other damage is a
// [DamageError], the last element.
func Read(ctx context.Context, dir, session string, after uint64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) { read(ctx, dir, session, after, yield) }
}

func read(ctx context.Context, dir, session string, after uint64, yield func(event.Event, error) bool) {
	f, size, err := openToRead(dir, session)
	if err != nil {
		yield(event.Event{}, err)
		return
	}
	defer f.Close()
	start := int64(len(header(formatVersion)))
	for e, err := range decodeFrom(ctx, scan(f, start, max(size, start), readBuffer), 0, after) {
		if damage := (*DamageError)(nil); errors.As(err, &damage) && damage.torn {
			return
		}
		if newer := (*event.NewerVersionError)(nil); errors.As(err, &newer) {
			err = &NewerError{Path: f.Name(), Version: newer.Version}
		}
		if !yield(e, err) {
			return
		}
	}
}

// Load returns the state of the session's log up to its current end, without the lock. It
// decodes no more than [Open] does. With a [DamageError], the state covers the events before the
// damage.
func Load(dir, session string) (event.State, error) {
	f, size, err := openToRead(dir, session)
	if err != nil {
		return event.State{}, err
	}
	defer f.Close()
	found, err := survey(session, f.Name(), f, max(size, int64(len(header(formatVersion)))))
	if err != nil {
		return event.State{}, err
	}
	if damage := (*DamageError)(nil); errors.As(found.damage, &damage) && !damage.torn {
		return found.state, damage
	}
	return found.state, nil
}

// openToRead opens the session's log and checks its first line.
func openToRead(dir, session string) (*os.File, int64, error) {
	path, err := logPath(dir, session)
	if err != nil {
		return nil, 0, err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // opening a pipe would wait
		return nil, 0, notAFile(path, info)
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, &MissingError{Session: session, Dir: dir}
	}
	if err != nil {
		return nil, 0, fmt.Errorf("cannot read session %q: %w", session, err)
	}
	size, err := checkReadable(f)
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, size, nil
}

func checkReadable(f *os.File) (size int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, &ForeignError{Path: f.Name(), What: "not a file"}
	}
	first := make([]byte, min(info.Size(), int64(2*len(header(formatVersion)))))
	if _, err := f.ReadAt(first, 0); err != nil {
		return 0, fmt.Errorf("cannot read %q: %w", f.Name(), err)
	}
	switch state, version := inspectHeader(first); state {
	case headerNewer:
		return 0, &NewerError{Path: f.Name(), Version: version}
	case headerForeign:
		return 0, &ForeignError{Path: f.Name(), What: "not a log of settle"}
	case headerNone:
		return 0, nil
	}
	return info.Size(), nil
}
