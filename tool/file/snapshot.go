package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/settle-agent/settle/internal/disk"
)

// maxEditBytes bounds the files that tools change, because a tool holds the old and the new
// content in memory.
const maxEditBytes = 32 << 20

// snapshot is a file as a call loaded it.
type snapshot struct {
	place

	dir  *disk.Dir   // the file's directory; nil if it does not exist
	info fs.FileInfo // nil if there is no file
	data []byte
	// missing are the canonical paths of the directories above the file that did not exist, from
	// above, and made those that the call created.
	missing, made []string
	// put, if set, writes the file through the editor.
	put func(content []byte) error
	// keep, if set, stores the data.
	keep func(content []byte) error
	// syncs, if set, replaces calls of sync in tests.
	syncs func(path string, sync func() error) error
}

// sync writes the file or directory to stable storage.
func (s *snapshot) sync(path string, sync func() error) error {
	if s.syncs != nil {
		return s.syncs(path, sync)
	}
	return sync()
}

func (s *snapshot) exists() bool { return s.info != nil }

// load reads the file at p, which need not exist.
func load(ctx context.Context, p place) (s *snapshot, err error) {
	s = &snapshot{place: p}
	s.dir, err = p.Dir()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.missing = p.MissingDirs()
		return s, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read %q: %w", p.Shown, err)
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	s.info, s.data, err = s.read(ctx)
	return s, err
}

// close closes the directory of the file.
func (s *snapshot) close() {
	if s.dir != nil {
		s.dir.Close()
	}
}

// read reads the file in its directory. Without a file, info is nil.
func (s *snapshot) read(ctx context.Context) (info fs.FileInfo, data []byte, err error) {
	p := s.place
	f, info, err := p.OpenIn(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if errors.Is(err, disk.ErrDirectory) {
		return nil, nil, fmt.Errorf("%q is a directory, not a file", p.Shown)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read %q: %w", p.Shown, err)
	}
	defer f.Close()
	if info.Size() > maxEditBytes {
		return nil, nil, fmt.Errorf("%q has %s, more than the %s that this tool can change; use a shell command",
			p.Shown, byteCount(info.Size()), byteCount(maxEditBytes))
	}
	data, err = io.ReadAll(io.LimitReader(contextReader{ctx, f}, maxEditBytes+1))
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read %q: %w", p.Shown, err)
	}
	if len(data) > maxEditBytes {
		return nil, nil, fmt.Errorf("%q grew beyond the %s that this tool can change while it was read", p.Shown,
			byteCount(maxEditBytes))
	}
	return info, data, nil
}

// unchanged returns an error if the file is no longer the loaded one.
func (s *snapshot) unchanged() error {
	if s.dir == nil && !s.exists() {
		return nil
	}
	info, err := s.dir.Lstat(s.Base())
	switch {
	case errors.Is(err, fs.ErrNotExist) && !s.exists():
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cannot look at %q: %w", s.Shown, err)
	case err != nil:
		return fmt.Errorf("%q was removed by another program during the call; it was not written", s.Shown)
	case !s.exists():
		return fmt.Errorf("%q was created by another program during the call; it was not written", s.Shown)
	case !os.SameFile(info, s.info) || info.Size() != s.info.Size() || !info.ModTime().Equal(s.info.ModTime()):
		return fmt.Errorf("%q was changed by another program during the call; it was not written. Read it again",
			s.Shown)
	}
	return nil
}

// contextReader ends a long read when its context does.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}

// byteCount formats a size for people.
func byteCount(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
