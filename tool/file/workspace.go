package file

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/tool"
)

// Config configures a Workspace.
type Config struct {
	// Masked reports whether a text contains the mask of a secret; tools do not write such
	// a text. Nil masks nothing.
	Masked func(text string) bool
	// Keep, if set, stores a file's content before the file is replaced or removed. The
	// [Change] has its hash. A failure does not stop the change.
	Keep func(content []byte) error
	// Intend, if set, stores a call's intended changes in the form of its result's Detail
	// without diffs: if the result is never written, it describes the result. A failure
	// does not stop the change.
	Intend func(call tool.Call, files json.RawMessage) error
	// Editor, if set, can have unsaved text.
	Editor *Editor
	// Checked, if set, returns a note about the files that a call has changed, such as their
	// new errors; the model receives it with the result. It ends with ctx.
	Checked func(ctx context.Context, files []Edited) string

	workDir *workDir // held open; nil holds none
}

// Edited is a file that a call has changed. Before is nil for a new file, After for a removed
// one.
type Edited struct {
	Real          string // the path without links
	Before, After []byte
}

// workDir is a session's working directory, held open; only settle itself has it.
type workDir = disk.WorkDir

// In returns the configuration with the session's working directory held open.
func (c Config) In(dir *workDir) Config {
	c.workDir = dir
	return c
}

// Workspace is the common state of a session's file tools: the locks of paths, and the
// content of files that the model knows. It is safe for concurrent use.
type Workspace struct {
	masked func(text string) bool
	keep   func(content []byte) error
	intend func(call tool.Call, files json.RawMessage) error
	editor *Editor
	check  func(ctx context.Context, files []Edited) string // nil for none
	mounts *disk.Mounts                                     // at the start of the session
	dir    *disk.WorkDir
	locks  locks

	mu    sync.Mutex
	known map[string]digest // guarded by mu; by key of a real path
}

// digest is the hash of a whole file.
type digest [sha256.Size]byte

// NewWorkspace returns a workspace in which the model knows no file.
func NewWorkspace(cfg Config) *Workspace {
	masked := cfg.Masked
	if masked == nil {
		masked = func(string) bool { return false }
	}
	return &Workspace{
		masked: masked, keep: cfg.Keep, intend: cfg.Intend, editor: cfg.Editor, check: cfg.Checked,
		mounts: disk.Mounted(), dir: cfg.workDir,
		known: map[string]digest{},
	}
}

// Tools returns read, write, edit and apply_patch. Models are offered either edit or
// apply_patch; [tool.Set.Only] chooses.
func (w *Workspace) Tools() []tool.Tool {
	return []tool.Tool{w.readTool(), w.writeTool(), w.editTool(), w.patchTool()}
}

// checked adds the note about changed files to a result. The locks of the files are free: the
// note can take seconds.
func (w *Workspace) checked(ctx context.Context, r tool.Result, files ...Edited) tool.Result {
	if w.check == nil || len(files) == 0 {
		return r
	}
	if note := w.check(ctx, files); note != "" {
		r.Output += "\n" + note
	}
	return r
}

// edited describes the replacement of the snapshot by the content.
func (s *snapshot) edited(content []byte) Edited {
	e := Edited{Real: s.Real, After: content}
	if s.exists() {
		e.Before = s.data[:len(s.data):len(s.data)]
		if e.Before == nil {
			e.Before = []byte{}
		}
	}
	return e
}

// knowledge is the model's knowledge of a file's current content.
type knowledge int

const (
	unread  knowledge = iota // never seen
	stale                    // seen in another version
	current                  // seen
)

func (w *Workspace) knows(p place, content []byte) knowledge {
	w.mu.Lock()
	defer w.mu.Unlock()
	sum, ok := w.known[p.key]
	switch {
	case !ok:
		return unread
	case sum != sha256.Sum256(content):
		return stale
	}
	return current
}

// learn records that the model has seen, or written, the whole file.
func (w *Workspace) learn(p place, sum digest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known[p.key] = sum
}

// learnChange records that the model replaced old by content. If the model knew the old
// content, it knows the new one; if it had seen only a part, it still does not know the
// whole.
func (w *Workspace) learnChange(p place, old, content []byte) {
	if w.knows(p, old) == current {
		w.learn(p, sha256.Sum256(content))
	}
}

func (w *Workspace) forget(p place) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.known, p.key)
}

func (w *Workspace) checkMask(p, text string) error {
	if w.masked(text) {
		return fmt.Errorf(
			"refused: the text for %q contains settle's mask of a secret, and would put the mask where the secret belongs; "+
				"nothing was written. Leave the lines with the secret alone, or have the value read from the environment",
			p,
		)
	}
	return nil
}

// place is the path that a tool works on.
type place struct {
	disk.Place

	key string // equal for all names of one file
	// buffer is the editor's path of the file: below the session's directory, without links
	// from there on; "" if the file is outside the directory.
	buffer string
}

// locate returns the place that a call's path was judged to lead to.
func (w *Workspace) locate(call tool.Call, path string) (place, error) {
	at, err := w.dir.Locate(call.Dir, path, call.Places)
	if err != nil {
		return place{}, err
	}
	p := place{Place: at.Mounted(w.mounts), key: keyOf(at.Real)}
	if w.editor != nil {
		p.buffer = bufferOf(call.Dir, at.Real)
	}
	return p, nil
}

// bufferOf returns the path under which an editor that works in dir has the file at real. A
// file outside has none under any name, because the editor would follow a link, and settle
// cannot confine its reads and writes.
func bufferOf(dir, real string) string {
	top, err := disk.Resolve(dir)
	if err != nil {
		return ""
	}
	rel, err := filepath.Rel(top, real)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.Join(dir, rel)
}

// keyOf returns one key for names that differ only in case where file systems commonly
// ignore case. On other systems, two files share a lock, which is harmless.
func keyOf(real string) string {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return strings.ToLower(real)
	}
	return real
}
