package rewind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/disk/changes"
	"github.com/settle-agent/settle/tool/file"
)

// Report is the result of a rewind.
type Report struct {
	// Session is the copy that continues from there; empty if there is none.
	Session string
	// Original is the session whose history fits the files again, after the undo of a rewind.
	Original string
	// Restored are the changed files, and Snapshot the directory with their earlier
	// content; empty if no file was changed.
	Restored []File
	Snapshot string
}

// UndoCommand returns the command that reverts the restored files. It names the session only if
// isFound: if the command finds the data directory. A path works anywhere.
func (r Report) UndoCommand(isFound bool) string {
	which := r.Session
	if which == "" || !isFound {
		which = r.Snapshot
	}
	return config.CommandLine([]string{"settle", "rewind", "--undo", which})
}

// snapshot is manifest.json of a snapshot's directory.
type snapshot struct {
	Session string        `json:"session"`
	Fork    string        `json:"fork,omitempty"`
	Input   string        `json:"input,omitempty"`
	Kind    kind          `json:"kind,omitempty"` // empty in snapshots of earlier versions
	At      time.Time     `json:"at"`
	Dir     string        `json:"dir"` // that the paths are relative to
	Files   []copiedEntry `json:"files"`
}

// kind is the operation that replaced the files of a snapshot.
type kind string

const (
	kindRewind kind = "rewind"
	kindUndo   kind = "undo" // of a rewind
)

// madeBy returns the operation that replaced the files.
func (m *snapshot) madeBy() kind {
	switch {
	case m.Kind != "":
		return m.Kind
	case m.Fork == "":
		return kindUndo
	}
	return kindRewind
}

// inverse returns the operation that undoes the kind.
func (k kind) inverse() kind {
	if k == kindUndo {
		return kindRewind
	}
	return kindUndo
}

// copiedEntry is a file as it was before the rewind, and as that left it.
type copiedEntry struct {
	Path string           `json:"path"`
	Real string           `json:"real,omitempty"`
	Tree bool             `json:"tree,omitempty"` // File.isInTree
	Was  *changes.Version `json:"was,omitempty"`
	Left *changes.Version `json:"left,omitempty"`
	Copy string           `json:"copy,omitempty"` // file in this directory; none if there was no content
}

const (
	manifest = "manifest.json"
	// maxCopyName bounds the part of a copy's name that is the file's own, in bytes.
	maxCopyName = 200
)

// Fork copies the session up to the input, and restores the files if files says so. The
// error names files that could not be restored; the Report has all that was done.
func (p *Plan) Fork(ctx context.Context, files Files) (Report, error) {
	fork := settle.NewSessionID()
	if err := store.ForkBefore(ctx, p.dataDir, p.Session, fork, p.Turn); err != nil {
		return Report{}, err
	}
	if files == LeaveFiles {
		return Report{Session: fork}, nil
	}
	r, err := p.restore(ctx, settle.Store{Dir: p.dataDir}.OutputDir(fork), fork)
	r.Session = fork
	return r, err
}

// Files decides whether files are restored.
type Files string

// The values.
const (
	RestoreFiles Files = "restore"
	LeaveFiles   Files = "leave"
)

// restore changes the files, after copying their current content to a directory in below.
func (p *Plan) restore(ctx context.Context, below, fork string) (Report, error) {
	p.Check(ctx)
	todo := p.Changes()
	if len(todo) == 0 {
		return Report{}, nil
	}
	at := filepath.Join(
		below, snapshotPrefix+time.Now().UTC().Format(snapshotTime)+strconv.FormatUint(rand.Uint64()>>40, 36),
	)
	if err := p.copyTo(ctx, at, fork, todo); err != nil {
		return Report{}, fmt.Errorf("cannot copy the files as they are: %w; no file was changed", err)
	}
	r := Report{Snapshot: at}
	root, _ := openRoot(p.Dir) // without it, no file in it is changed
	if root != nil {
		defer root.Close()
	}
	var errs []error
	for _, one := range inOrder(todo) {
		f := one.file
		content, err := p.contentOf(f, f.Left)
		if err == nil {
			err = f.restore(ctx, root, one.from, one.to, content)
		}
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("cannot restore %q: %w", f.Path, err))
		case !one.isLater:
			r.Restored = append(r.Restored, *f)
		}
	}
	return r, errors.Join(errs...)
}

// copyTo copies the current content. When it returns nil, the copies are durable, and the
// manifest, written last, names all of them.
func (p *Plan) copyTo(ctx context.Context, at, fork string, todo []File) error {
	if err := os.MkdirAll(at, 0o700); err != nil {
		return err
	}
	root, _ := openRoot(p.Dir) // as in restore
	if root != nil {
		defer root.Close()
	}
	m := snapshot{
		Session: p.Session, Fork: fork, Input: p.Input, Kind: p.kind, At: time.Now().UTC(), Dir: p.Dir,
	}
	for n, f := range todo {
		now, content, err := f.look(ctx, root)
		if err != nil {
			return err
		}
		entry := copiedEntry{Path: f.Path, Real: f.Real, Tree: f.isInTree, Was: now, Left: f.Was}
		if now != nil && now.Kind == changes.File {
			entry.Copy = fmt.Sprintf("%04d", n+1)
			if base := filepath.Base(filepath.FromSlash(f.Path)); len(base) <= maxCopyName {
				entry.Copy += "-" + base
			}
			if err := writeSynced(filepath.Join(at, entry.Copy), content); err != nil {
				return err
			}
		}
		m.Files = append(m.Files, entry)
	}
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := writeSynced(filepath.Join(at, manifest), append(raw, '\n')); err != nil {
		return err
	}
	return errors.Join(disk.SyncDir(at), disk.SyncDir(filepath.Dir(at)))
}

func writeSynced(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// maxManifest bounds the manifest of a snapshot, in bytes, and maxCopy a file in the
// snapshot.
const (
	maxManifest = 16 << 20
	maxCopy     = 64 << 20
)

// readManifest reads the manifest of a snapshot's directory.
func readManifest(at string) (m snapshot, err error) {
	raw, _, err := disk.Read(filepath.Join(at, manifest), maxManifest)
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	return m, err
}

// ReadSnapshot makes the plan that undoes a rewind, from the directory of its snapshot. It
// also checks the files.
func ReadSnapshot(ctx context.Context, at string) (*Plan, error) {
	m, err := readManifest(at)
	if err != nil {
		return nil, fmt.Errorf("cannot undo a rewind by %q: %w", at, err)
	}
	copies := map[string]string{}
	p := &Plan{Session: m.Session, Input: m.Input, At: m.At, Dir: m.Dir, kind: m.madeBy().inverse()}
	for _, e := range m.Files {
		if e.Was != nil && e.Copy != "" && filepath.IsLocal(e.Copy) {
			copies[e.Was.SHA256] = filepath.Join(at, e.Copy)
		}
		p.Files = append(
			p.Files, File{
				Target: file.Target{Dir: m.Dir, Path: e.Path, Real: e.Real}, Was: e.Was, Left: e.Left, isInTree: e.Tree,
			},
		)
	}
	p.content = func(sum string) ([]byte, error) {
		path, ok := copies[sum]
		if !ok {
			return nil, &disk.MissingError{SHA256: sum}
		}
		content, _, err := disk.Read(path, maxCopy)
		if err == nil && disk.Sum(content) != sum {
			err = fmt.Errorf("%q is not what was copied", path)
		}
		return content, err
	}
	p.Check(ctx)
	return p, nil
}

// Undo restores the files of a plan from [ReadSnapshot]. It first copies the current files
// beside the snapshot.
func (p *Plan) Undo(ctx context.Context, at string) (Report, error) {
	r, err := p.restore(ctx, filepath.Dir(at), "")
	if p.kind == kindUndo {
		r.Original = p.Session
	}
	return r, err
}
