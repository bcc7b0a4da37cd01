package history

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/settle-agent/settle/internal/disk"
)

const (
	// mostChecked is how many files are looked at, the latest first, and
	// mostBytes how large one may be.
	maxChecked = 200
	maxBytes   = 8 << 20
)

// Check looks which files have changed since, in the directory dir. It ends early
// with ctx; what was not looked at stays unknown.
func (l *Digest) Check(ctx context.Context, dir string) {
	for n := len(l.Files) - 1; n >= max(0, len(l.Files)-maxChecked) && ctx.Err() == nil; n-- {
		l.Files[n].Now = l.Files[n].check(dir)
	}
}

func (f File) check(dir string) State {
	path := filepath.FromSlash(f.Path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	data, size, err := disk.Read(path, maxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Gone
	case err != nil || size > maxBytes || f.SHA256 == "" && !f.Deleted:
		return Unknown
	}
	if sum := sha256.Sum256(data); f.SHA256 == hex.EncodeToString(sum[:]) {
		return Unchanged
	}
	return Changed
}
