package journal

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
)

// Options are the log to open and its settings.
type Options struct {
	Dir     string // data directory
	Session string // id; see [NameError]
	// MustExist refuses to create the session: [MissingError].
	MustExist bool
	// Take takes the session over: it asks the holder to release it, or ends the holder.
	Take bool
	// TakeGrace is the time for the holder to end by itself, 2 s by default; TakeTimeout bounds
	// the whole wait, 10 s by default.
	TakeGrace, TakeTimeout time.Duration
	// ReleaseTimeout bounds the wait for surviving supervisors of a dead host, 5 s by default.
	ReleaseTimeout time.Duration
	// Clock is the source of the events' times, time.Now by default.
	Clock func() time.Time
	// WriteTimeout is as for [WithWriteTimeout].
	WriteTimeout time.Duration
	// snapshotEvery and snapshotLeast default to the constants of these names.
	snapshotEvery, snapshotLeast int64
	// Wrap, if set, wraps the file, for tests.
	Wrap func(File) File
}

// Opened describes the result of opening.
type Opened struct {
	Path     string
	Existing bool // the log has events
	// Damage describes the file's damage, or is empty. Kept is the file with the CutBytes bytes
	// that were cut from its end, unless they were zeros.
	Damage   string
	CutBytes int64
	Kept     string
}

// Open opens the session's log, creates it if allowed, and takes its lock (C20). Damage by a
// crash or a bad disk is cut, saved in another file, and reported. A caller can handle the
// errors [HeldError], [MissingError], [NewerError], [ForeignError], [AccessError] and
// [NameError].
//
// Entities that a dead writer left open are still open in the state.
func Open(ctx context.Context, o Options) (*Log, Opened, error) {
	path, err := logPath(o.Dir, o.Session)
	if err != nil {
		return nil, Opened{}, err
	}
	o = o.withDefaults()
	f, err := o.acquire(ctx, path)
	if err != nil {
		return nil, Opened{}, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, Opened{}, errors.Join(&AccessError{Path: path, Err: err}, f.Close())
	}
	store, state, opened, err := load(o, path, f, info.Size())
	switch {
	case err != nil && info.Size() == 0: // the file never became a log
		return nil, Opened{}, errors.Join(err, removeLocked(f, path))
	case err != nil:
		return nil, Opened{}, errors.Join(err, f.Close())
	}
	return New(store, state, WithClock(o.Clock), WithWriteTimeout(o.WriteTimeout)), opened, nil
}

func (o Options) withDefaults() Options {
	if o.TakeGrace == 0 {
		o.TakeGrace = 2 * time.Second
	}
	if o.TakeTimeout == 0 {
		o.TakeTimeout = 10 * time.Second
	}
	if o.ReleaseTimeout == 0 {
		o.ReleaseTimeout = 5 * time.Second
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = defaultWriteTimeout
	}
	o.snapshotEvery = cmp.Or(o.snapshotEvery, snapshotEvery)
	o.snapshotLeast = cmp.Or(o.snapshotLeast, snapshotLeast)
	if o.Wrap == nil {
		o.Wrap = func(f File) File { return f }
	}
	return o
}

// LockFile returns the file with the session's lock, which child processes inherit: the lock is
// released after the last of them has ended. It is nil for a log in memory.
func (l *Log) LockFile() *os.File {
	if s, ok := l.store.(*fileStore); ok {
		return s.lock
	}
	return nil
}

const (
	logSuffix  = ".log"
	tornSuffix = ".torn-"
)

func sessionsDir(dir string) string { return filepath.Join(dir, "sessions") }

// logPath returns the path of the session's log.
func logPath(dir, session string) (string, error) {
	if !validName(session) {
		return "", &NameError{Session: session}
	}
	return filepath.Join(sessionsDir(dir), session+logSuffix), nil
}

func validName(session string) bool {
	if session == "" || len(session) > 128 || strings.ContainsAny(session[:1], ".-_") ||
		strings.Contains(session, logSuffix+tornSuffix) {
		return false
	}
	for _, c := range []byte(session) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.", c) >= 0) {
			return false
		}
	}
	return true
}

// openFile opens the log's file for writing, without the lock.
func (o Options) openFile(path string) (*os.File, error) {
	flags := os.O_RDWR
	if !o.MustExist {
		flags |= os.O_CREATE
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, &AccessError{Path: path, Err: err}
		}
	}
	// Checked first, since opening a pipe or a device can have effects.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, notAFile(path, info)
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if errors.Is(err, os.ErrNotExist) && o.MustExist {
		return nil, &MissingError{Session: o.Session, Dir: o.Dir}
	}
	if err != nil {
		return nil, &AccessError{Path: path, Err: errors.Unwrap(err)}
	}
	return f, nil
}

// notAFile is the error for another kind of file in a log's place.
func notAFile(path string, info os.FileInfo) error {
	what := "not a file"
	if info.IsDir() {
		what = "a directory"
	}
	return &ForeignError{Path: path, What: what}
}

// load reads and repairs the locked file, and returns its store and state.
func load(o Options, path string, f *os.File, size int64) (*fileStore, event.State, Opened, error) {
	opened := Opened{Path: path}
	file := o.Wrap(diskFile{f})
	fail := func(err error) (*fileStore, event.State, Opened, error) {
		return nil, event.State{}, opened, err
	}
	r := &repair{path: path, file: file, wrap: o.Wrap, size: size, opened: &opened}
	if err := r.header(); err != nil {
		return fail(err)
	}
	found, err := survey(o.Session, path, file, r.size)
	if err != nil {
		return fail(err)
	}
	if found.damage != nil {
		if err := r.cut(found.end, found.damage); err != nil {
			return fail(err)
		}
	}
	opened.Existing = found.state.Seq > 0
	info, err := f.Stat()
	if err != nil {
		return fail(&AccessError{Path: path, Err: err})
	}
	store := &fileStore{
		path: path, file: file, lock: f, newborn: !opened.Existing, info: info, wrap: o.Wrap,
		synced: found.end, size: found.end, seq: found.state.Seq, marks: found.marks,
		covered: found.covered, snapshotEvery: o.snapshotEvery, snapshotLeast: o.snapshotLeast,
	}
	store.reserve.resume(found.state.Running())
	found.state.Session = o.Session
	return store, found.state, opened, nil
}
