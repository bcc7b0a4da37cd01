package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/settle-agent/settle/tool/internal/disk"
)

// maxEditBytes is the largest file that a tool changes: it holds the old and
// the new content in memory.
const maxEditBytes = 32 << 20

// snapshot is a file as it was when a call looked at it.
type snapshot struct {
	place
	info fs.FileInfo // nil: there is no file
	data []byte
	// put, if set, has the editor write the file.
	put func(content []byte) error
	// keep, if set, keeps the data.
	keep func(content []byte) error
	// syncs, if set, stands between the snapshot and the disk, for tests.
	syncs func(path string, sync func() error) error
}

// sync puts the file or directory on stable storage.
func (s *snapshot) sync(path string, sync func() error) error {
	if s.syncs != nil {
		return s.syncs(path, sync)
	}
	return sync()
}

func (s *snapshot) exists() bool { return s.info != nil }

// load reads the file at p, which need not exist.
func load(ctx context.Context, p place) (*snapshot, error) {
	f, info, err := disk.Open(p.real)
	if errors.Is(err, fs.ErrNotExist) {
		return &snapshot{place: p}, nil
	}
	if errors.Is(err, disk.ErrDirectory) {
		return nil, fmt.Errorf("%q is a directory, not a file", p.shown)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", p.shown, err)
	}
	defer f.Close()
	if info.Size() > maxEditBytes {
		return nil, fmt.Errorf("%q has %s, more than the %s that this tool can change; use a shell command", p.shown, byteCount(info.Size()), byteCount(maxEditBytes))
	}
	data, err := io.ReadAll(io.LimitReader(contextReader{ctx, f}, maxEditBytes+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", p.shown, err)
	}
	if len(data) > maxEditBytes {
		return nil, fmt.Errorf("%q grew beyond the %s that this tool can change while it was read", p.shown, byteCount(maxEditBytes))
	}
	return &snapshot{place: p, info: info, data: data}, nil
}

// unchanged says whether the file is still the one that was loaded.
func (s *snapshot) unchanged() error {
	info, err := os.Lstat(s.real)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !s.exists():
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cannot look at %q: %w", s.shown, err)
	case err != nil:
		return fmt.Errorf("%q was removed by another program during the call; it was not written", s.shown)
	case !s.exists():
		return fmt.Errorf("%q was created by another program during the call; it was not written", s.shown)
	case !os.SameFile(info, s.info) || info.Size() != s.info.Size() || !info.ModTime().Equal(s.info.ModTime()):
		return fmt.Errorf("%q was changed by another program during the call; it was not written. Read it again", s.shown)
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

// byteCount writes a size for people.
func byteCount(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
