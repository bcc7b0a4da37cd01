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

// Options say which log to open, and how.
type Options struct {
	Dir     string // data directory
	Session string // id; see [NameError]
	// MustExist refuses to create the session: [MissingError].
	MustExist bool
	// Take ends the process that holds the session and waits for the lock.
	Take bool
	// TakeGrace is what the holder has to end by itself, 2 s by default;
	// TakeTimeout bounds the whole wait, 10 s by default.
	TakeGrace, TakeTimeout time.Duration
	// ReleaseTimeout bounds the wait for those that clean up after a holder
	// that is dead, 5 s by default.
	ReleaseTimeout time.Duration
	// Clock is the source of the events' times, time.Now by default.
	Clock func() time.Time
	// WriteTimeout is as for [WithWriteTimeout].
	WriteTimeout time.Duration
	// snapshotEvery and snapshotLeast are the constants of the same names by default.
	snapshotEvery, snapshotLeast int64
	// Wrap, if set, stands between the journal and the file. It is for tests.
	Wrap func(File) File
}

// Opened says what opening found and did.
type Opened struct {
	Path     string
	Existing bool // there are events
	// Damage says in words what was wrong with the file, or is empty. What
	// was cut from its end, CutBytes long, is in the file Kept, unless it was
	// only zeros.
	Damage   string
	CutBytes int64
	Kept     string
}

// Open opens the session's log, creating it if it may, and takes its lock
// (C20). What a crash or a bad disk has damaged is cut, kept beside, and told.
// The errors for which a caller can do something are [HeldError],
// [MissingError], [NewerError], [ForeignError], [AccessError] and [NameError].
//
// Things that a dead writer left open are still open in the state.
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
	case err != nil && info.Size() == 0: // it never became a log
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

// LockFile returns the file that holds the session's lock, for child
// processes to inherit: the lock is free when the last of them has ended. It
// is nil for a log in memory.
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
	if session == "" || len(session) > 128 || strings.ContainsAny(session[:1], ".-_") || strings.Contains(session, logSuffix+tornSuffix) {
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
	// Looked at first, since opening a pipe or a device may have effects.
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

// notAFile is the error of something in a log's place.
func notAFile(path string, info os.FileInfo) error {
	what := "not a file"
	if info.IsDir() {
		what = "a directory"
	}
	return &ForeignError{Path: path, What: what}
}

// load reads the locked file of that size, repairs it and returns its store and
// state.
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
