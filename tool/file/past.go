package file

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"github.com/settle-agent/settle/tool"
)

// Past is a file as it was.
type Past struct {
	// SHA256 is that of its whole content, in hex.
	SHA256 string `json:"sha256"`
	// Mode is its permissions, such as "0644".
	Mode string `json:"mode,omitempty"`
}

// Perm is the mode of the file; 0 if it is not known.
func (p Past) Perm() fs.FileMode {
	n, err := strconv.ParseUint(p.Mode, 8, 12)
	if err != nil {
		return 0
	}
	return fs.FileMode(n) & fs.ModePerm
}

// past is the file as it was loaded; nil if there was none.
func (s *snapshot) past() *Past {
	if !s.exists() {
		return nil
	}
	return &Past{hexDigest(sha256.Sum256(s.data)), fmt.Sprintf("%04o", s.info.Mode().Perm())}
}

// keepData keeps what the file contains, which is about to go. A disk that has no
// room for it is no reason to do nothing: that it is not kept is found by whoever
// wants it back.
func (s *snapshot) keepData() {
	if s.keep != nil && s.exists() {
		_ = s.keep(s.data)
	}
}

// intends keeps what a call is about to do.
func (w *Workspace) intends(call tool.Call, files ...Change) {
	if w.intend == nil {
		return
	}
	for n := range files {
		files[n].Diff = ""
	}
	_ = w.intend(call, detail(files...))
}

// record notes what was at the change's path.
func (c *Change) record(s *snapshot) {
	c.Before = s.past()
	if s.Real != s.Named {
		c.Real = filepath.ToSlash(s.Real)
	}
}

// recordMove notes what was where the file came from.
func (c *Change) recordMove(from *snapshot) {
	c.Moved = from.past()
	if from.Real != from.Named {
		c.FromReal = filepath.ToSlash(from.Real)
	}
}
