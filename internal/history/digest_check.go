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
	// maxChecked bounds the checked files, the latest first, and maxBytes the size of each.
	maxChecked = 200
	maxBytes   = 8 << 20
)

// Check compares the files with their state on disk, relative to dir. It ends early with ctx;
// the remaining files stay unknown.
func (l *Digest) Check(ctx context.Context, dir string) {
	for n := len(l.Files) - 1; n >= max(0, len(l.Files)-maxChecked) && ctx.Err() == nil; n-- {
		l.Files[n].Now = l.Files[n].check(dir)
	}
}

func (f File) check(dir string) State {
	data, size, err := disk.Read(disk.AbsoluteIn(dir, filepath.FromSlash(f.Path)), maxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Missing
	case err != nil || size > maxBytes || f.SHA256 == "" && !f.Deleted:
		return Unknown
	}
	if sum := sha256.Sum256(data); f.SHA256 == hex.EncodeToString(sum[:]) {
		return Unchanged
	}
	return Changed
}
