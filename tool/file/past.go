package file

import (
	"crypto/sha256"
	"io/fs"
	"path/filepath"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/tool"
)

// Past is an earlier version of a file.
type Past struct {
	// SHA256 is the hash of its whole content, in hex.
	SHA256 string `json:"sha256"`
	// Mode is its permissions, such as "0644".
	Mode string `json:"mode,omitempty"`
}

// Perm is the mode of the file; 0 if it is unknown.
func (p Past) Perm() fs.FileMode { return disk.ParseMode(p.Mode) }

// past returns the file as loaded; nil if there was none.
func (s *snapshot) past() *Past {
	if !s.exists() {
		return nil
	}
	return &Past{hexDigest(sha256.Sum256(s.data)), disk.FormatMode(s.info.Mode())}
}

// keepData stores the content of the file before it is replaced. A failure, such as a full
// disk, does not stop the call: an undo then reports that the content is missing.
func (s *snapshot) keepData() {
	if s.keep != nil && s.exists() {
		_ = s.keep(s.data)
	}
}

// intends stores the intended changes of a call.
func (w *Workspace) intends(call tool.Call, files ...Change) {
	if w.intend == nil {
		return
	}
	for n := range files {
		files[n].Diff = ""
	}
	_ = w.intend(call, detail(files...))
}

// record records the earlier file at the change's path, and the directories that were missing.
func (c *Change) record(s *snapshot) {
	c.Before = s.past()
	for _, path := range s.missing {
		c.Made = append(c.Made, filepath.ToSlash(path))
	}
	if s.Real != s.Named {
		c.Real = filepath.ToSlash(s.Real)
	}
}

// recordMove records the earlier file at the source of a move.
func (c *Change) recordMove(from *snapshot) {
	c.Moved = from.past()
	if from.Real != from.Named {
		c.FromReal = filepath.ToSlash(from.Real)
	}
}
