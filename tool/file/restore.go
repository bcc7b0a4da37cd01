package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/settle-agent/settle/internal/disk"
)

// Target is a file to restore, from a [Change].
type Target struct {
	// Dir is the session's directory; Path and Real are from the Change.
	Dir, Path, Real string
}

// Present is the current version of a file.
type Present struct {
	*Past          // nil if there is none
	Content []byte // the whole content
}

// Look returns the current version of the target. It fails if the path no longer leads to
// the changed file.
func (t Target) Look(ctx context.Context) (Present, error) {
	s, err := t.load(ctx)
	if err != nil {
		return Present{}, err
	}
	defer s.close()
	return Present{s.past(), s.data}, nil
}

func (t Target) load(ctx context.Context) (*snapshot, error) {
	at, err := disk.Locate(t.Dir, filepath.FromSlash(t.Path), nil)
	if err != nil {
		return nil, err
	}
	want := at.Named
	if t.Real != "" {
		want = filepath.FromSlash(t.Real)
	}
	if at.Real != want {
		return nil, fmt.Errorf("the path leads to %q now", at.Real)
	}
	s, err := load(ctx, place{Place: at})
	if errors.As(err, new(*disk.NotRegularError)) {
		return nil, fmt.Errorf("it is no file now: %w", err)
	}
	return s, err
}

// Restore restores the target's version was with its content; a nil was removes the file.
// It changes only a file whose current version is now.
func (t Target) Restore(ctx context.Context, now, was *Past, content []byte) error {
	s, err := t.load(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if have := s.past(); (have == nil) != (now == nil) || have != nil && have.SHA256 != now.SHA256 {
		return fmt.Errorf("%q has just been changed by another program; it was not restored", s.Shown)
	}
	if was == nil {
		return s.remove()
	}
	var like fs.FileInfo
	if mode := was.Perm(); mode != 0 {
		like = permissions(mode)
	}
	st, err := stage(s, content, like)
	if err != nil {
		return err
	}
	if err := st.commit(); err != nil {
		_ = st.discard() // the other error is more informative
		return err
	}
	return nil
}

func (s *snapshot) remove() error {
	if err := s.unchanged(); err != nil {
		return err
	}
	if err := s.dir.Remove(s.Base()); err != nil {
		return fmt.Errorf("cannot delete %q: %w", s.Shown, err)
	}
	return s.dir.Sync()
}

// permissions is a file of which only the mode is known.
type permissions fs.FileMode

func (permissions) Name() string        { return "" }
func (permissions) Size() int64         { return 0 }
func (m permissions) Mode() fs.FileMode { return fs.FileMode(m) }
func (permissions) ModTime() time.Time  { return time.Time{} }
func (permissions) IsDir() bool         { return false }
func (permissions) Sys() any            { return nil }
