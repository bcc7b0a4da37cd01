package file

import (
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

// Config is what a Workspace needs from outside.
type Config struct {
	// Masked reports whether a text contains the mask that stands for a
	// secret; what it says yes to is not written. Nil: nothing is masked.
	Masked func(text string) bool
	// Keep, if set, keeps what a file contained, before it is replaced or removed. Its
	// hash is in the [Change]. What cannot be kept is changed none the less.
	Keep func(content []byte) error
	// Intend, if set, keeps what a call is about to do, as the Detail of its result will
	// have it, but for the diffs: if the result is never written, it tells what the call
	// was to leave. What cannot be kept is done none the less.
	Intend func(call tool.Call, files json.RawMessage) error
	// Editor, if set, may know text that is not saved yet.
	Editor *Editor
}

// Workspace is what a session's file tools share: who works on which path,
// and what the model knows of each file. It is safe for concurrent use.
type Workspace struct {
	masked func(text string) bool
	keep   func(content []byte) error
	intend func(call tool.Call, files json.RawMessage) error
	editor *Editor
	mounts *disk.Mounts // as the session began
	locks  locks

	mu    sync.Mutex
	known map[string]digest // guarded by mu; by key of a real path
}

// digest is the hash of a whole file.
type digest [sha256.Size]byte

// NewWorkspace returns a workspace in which the model knows no file yet.
func NewWorkspace(cfg Config) *Workspace {
	masked := cfg.Masked
	if masked == nil {
		masked = func(string) bool { return false }
	}
	return &Workspace{
		masked: masked, keep: cfg.Keep, intend: cfg.Intend, editor: cfg.Editor, mounts: disk.Mounted(), known: map[string]digest{},
	}
}

// Tools returns read, write, edit and apply_patch. Models are offered either
// edit or apply_patch; [tool.Set.Only] chooses.
func (w *Workspace) Tools() []tool.Tool {
	return []tool.Tool{w.readTool(), w.writeTool(), w.editTool(), w.patchTool()}
}

// knowledge is what the model knows of a file's present content.
type knowledge int

const (
	unread  knowledge = iota // it never saw it
	stale                    // it saw something else
	current                  // it saw this
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

// learn notes that the model has seen, or written, the whole of a file.
func (w *Workspace) learn(p place, sum digest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known[p.key] = sum
}

// learnChange notes that the model replaced old by content. Who knew the old
// knows the new; who had seen only a part still does not know the whole.
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
		return fmt.Errorf("refused: the text for %q contains settle's mask of a secret, and would put the mask where the secret belongs; "+
			"nothing was written. Leave the lines with the secret alone, or have the value read from the environment", p)
	}
	return nil
}

// place is where a tool works.
type place struct {
	disk.Place

	key string // equal for all names of one file
	// buffer is the path by which an editor has the file: below the session's directory,
	// without links from there on; "" if the file is not in that directory.
	buffer string
}

// locate returns the place that a path of a call was judged to lead to.
func (w *Workspace) locate(call tool.Call, path string) (place, error) {
	at, err := disk.Locate(call.Dir, path, call.Places)
	if err != nil {
		return place{}, err
	}
	p := place{Place: at.Mounted(w.mounts), key: keyOf(at.Real)}
	if w.editor != nil {
		p.buffer = bufferOf(call.Dir, at.Real)
	}
	return p, nil
}

// bufferOf returns the path by which an editor that works in dir has the file at real.
// A file outside has none, however it was named: the editor would follow a link, and
// what it reads and writes is not settle's to confine.
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

// keyOf makes one key of names that differ in case where file systems commonly
// ignore it. Where they do not, two files share a lock, which is harmless.
func keyOf(real string) string {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return strings.ToLower(real)
	}
	return real
}
