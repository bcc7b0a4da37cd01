package execserver

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

type listing struct {
	Entries []listed `json:"entries"`
}

type listed struct {
	Name      string `json:"fileName"`
	Directory bool   `json:"isDirectory"`
	File      bool   `json:"isFile"`
}

// maxListed is the maximum number of names that one request lists.
const maxListed = 100_000

func (c *conn) readDirectory(_ context.Context, params fileParams) (any, error) {
	t, err := c.target(params.Path, "path", params.Sandbox, readable)
	if err != nil {
		return nil, err
	}
	entries, err := t.list(maxListed + 1)
	switch {
	case err != nil:
		return nil, err
	case len(entries) > maxListed:
		return nil, fmt.Errorf("cannot list %q: it has more than %d entries", t.Named, maxListed)
	}
	all := listing{Entries: []listed{}}
	for _, e := range entries {
		is := e.Type()
		if is&fs.ModeSymlink != 0 && !t.rights.confined {
			if _, info, err := t.entry(e.Name()).follow(); err == nil {
				is = info.Mode().Type()
			}
		}
		all.Entries = append(all.Entries, listed{e.Name(), is.IsDir(), is.IsRegular()})
	}
	return all, nil
}

// list returns the entries of a folder. It stops some way after so many entries.
func (t target) list(limit int) ([]fs.DirEntry, error) {
	info, err := t.stat()
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, invalidRequest("path `%s` is not a directory", t.Named)
	}
	d, err := t.Tree()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Read(limit, func() bool { return true })
}

// follow returns the target of an entry, with its description.
func (t target) follow() (target, fs.FileInfo, error) {
	real, err := disk.Resolve(t.Real)
	if err != nil {
		return target{}, nil, err
	}
	to := target{disk.At("", t.Named, real), t.rights}
	info, err := to.stat()
	return to, info, err
}

type walkParams struct {
	fileParams

	Options *walkOptions `json:"options"`
}

type walkOptions struct {
	Depth       *int  `json:"maxDepth"`
	Directories *int  `json:"maxDirectories"`
	Entries     *int  `json:"maxEntries"`
	Follow      *bool `json:"followDirectorySymlinks"`
}

type walked struct {
	Entries   []walkEntry `json:"entries"`
	Errors    []walkError `json:"errors"`
	Truncated bool        `json:"truncated"`
}

type walkEntry struct {
	Path place  `json:"path"`
	Kind string `json:"kind"`
}

type walkError struct {
	Path    place  `json:"path"`
	Message string `json:"message"`
}

// maxErrors is the number of errors that a walk reports.
const maxErrors = 100

// walk lists the files and folders below a folder, breadth first, by name and within
// bounds. It follows links to folders if it is asked to, and goes into each folder
// once.
func (c *conn) walk(ctx context.Context, params walkParams) (any, error) {
	o := params.Options
	switch {
	case o == nil || o.Depth == nil || o.Directories == nil || o.Entries == nil || o.Follow == nil:
		return nil, invalidParams(
			"missing field `options`, or `maxDepth`, `maxDirectories`, `maxEntries` or `followDirectorySymlinks` of it",
		)
	case *o.Depth <= 0 || *o.Directories <= 0 || *o.Entries <= 0:
		return nil, invalidRequest("filesystem walk limits must be greater than zero")
	}
	t, err := c.target(params.Path, "path", params.Sandbox, readable)
	if err != nil {
		return nil, err
	}
	w := walker{
		options: o,
		result:  walked{Entries: []walkEntry{}, Errors: []walkError{}},
		visited: map[string]bool{t.Real: true},
	}
	if err := w.walk(ctx, folder{t, 0}); err != nil {
		return nil, err
	}
	return w.result, nil
}

type walker struct {
	options *walkOptions
	result  walked
	visited map[string]bool // folders, without links
	seen    int             // entries, including unlisted ones
}

// folder is a folder of a walk: its descriptor and its name.
type folder struct {
	target

	depth int
}

func (w *walker) walk(ctx context.Context, top folder) error {
	line := []folder{top}
	for folders := 0; len(line) > 0; folders++ {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		at := line[0]
		line = line[1:]
		if folders >= *w.options.Directories {
			w.result.Truncated = true
			return nil
		}
		entries, err := at.list(maxListed)
		switch {
		case err != nil && at.depth == 0:
			return err
		case err != nil:
			w.fail(at.Named, err)
			continue
		}
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		for _, e := range entries {
			if w.seen++; w.seen > min(*w.options.Entries, maxListed) {
				w.result.Truncated = true
				return nil
			}
			if below, ok := w.visit(at, e); ok {
				line = append(line, below)
			}
		}
	}
	return nil
}

// visit lists one entry, and returns it if it is a folder to go into.
func (w *walker) visit(at folder, e fs.DirEntry) (folder, bool) {
	below := folder{at.entry(e.Name()), at.depth + 1}
	is := e.Type()
	if is&fs.ModeSymlink != 0 && *w.options.Follow {
		to, info, err := below.follow()
		if err != nil || !info.IsDir() {
			return folder{}, false
		}
		below.target, is = to, fs.ModeDir
	}
	if at.rights.may(below.Real) < readable || !is.IsDir() && !is.IsRegular() {
		return folder{}, false
	}
	kind := "file"
	if is.IsDir() {
		kind = "directory"
	}
	w.result.Entries = append(w.result.Entries, walkEntry{place(below.Named), kind})
	if !is.IsDir() || w.visited[below.Real] || at.depth >= *w.options.Depth {
		return folder{}, false
	}
	w.visited[below.Real] = true
	return below, true
}

func (w *walker) fail(path string, err error) {
	if len(w.result.Errors) < maxErrors {
		w.result.Errors = append(w.result.Errors, walkError{place(path), failureOf(err).Message})
	}
}
