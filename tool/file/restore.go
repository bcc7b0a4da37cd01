package file

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/settle-agent/settle/internal/safefile"
)

// Target is a file that is to be what it was, by what a [Change] says of it.
type Target struct {
	// Dir is the session's directory, and Path and Real are as in the Change.
	Dir, Path, Real string
}

// Present is a file as it is.
type Present struct {
	*Past          // nil: there is none
	Content []byte // whole
}

// Look returns what the target is. A path that does not lead any more to where the
// change was made is an error.
func (t Target) Look(ctx context.Context) (Present, error) {
	s, err := t.load(ctx)
	if err != nil {
		return Present{}, err
	}
	return Present{s.past(), s.data}, nil
}

func (t Target) load(ctx context.Context) (*snapshot, error) {
	p, err := (&Workspace{}).locate(t.Dir, filepath.FromSlash(t.Path))
	if err != nil {
		return nil, err
	}
	want := p.named
	if t.Real != "" {
		want = filepath.FromSlash(t.Real)
	}
	if p.real != want {
		return nil, fmt.Errorf("the path leads to %q now", p.real)
	}
	if info, err := os.Lstat(p.real); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is a %s now", kindOf(info.Mode()))
	}
	return load(ctx, p)
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "directory"
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	}
	return "special file"
}

// Restore makes the target what it was, with a content; nil removes it. It does
// nothing to a file that is not what it is said to be now.
func (t Target) Restore(ctx context.Context, now, was *Past, content []byte) error {
	s, err := t.load(ctx)
	if err != nil {
		return err
	}
	if have := s.past(); (have == nil) != (now == nil) || have != nil && have.SHA256 != now.SHA256 {
		return fmt.Errorf("%q has just been changed by another program; it was not restored", s.shown)
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
		_ = st.discard() // the other error says more
		return err
	}
	return nil
}

func (s *snapshot) remove() error {
	if err := s.unchanged(); err != nil {
		return err
	}
	if err := os.Remove(s.real); err != nil {
		return fmt.Errorf("cannot delete %q: %w", s.shown, err)
	}
	return safefile.SyncDir(filepath.Dir(s.real))
}

// permissions is a file of which no more is known.
type permissions fs.FileMode

func (permissions) Name() string        { return "" }
func (permissions) Size() int64         { return 0 }
func (m permissions) Mode() fs.FileMode { return fs.FileMode(m) }
func (permissions) ModTime() time.Time  { return time.Time{} }
func (permissions) IsDir() bool         { return false }
func (permissions) Sys() any            { return nil }
