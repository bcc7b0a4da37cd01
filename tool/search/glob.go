package search

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/tool"
)

const (
	defaultFiles = 100
	maxFiles     = 1000
)

var globSchema = sync.OnceValue(func() tool.Option {
	return tool.WithSchema(`{
	"type": "object",
	"properties": {
		"pattern": {"type": "string", "minLength": 1, "description": "* ? [a-z] {a,b}, and ** for any directories. Without a slash: names in every directory."},
		"path": {"type": "string", "description": "Default: the working directory."},
		"limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "Default 100."}
	},
	"required": ["pattern"],
	"additionalProperties": false
}`)
})

// globTool returns the tool glob.
func (c Config) globTool() tool.Tool {
	return tool.Must(
		tool.New(
			"glob",
			"Finds files by name. Returns paths, most recently changed first, without files that .gitignore excludes. "+
				"To search file contents use grep.",
			c.glob,
			globSchema(),
			tool.ReadOnly(),
			tool.WithTitle(GlobArguments.title),
		),
	)
}

// GlobArguments are the arguments of glob.
type GlobArguments struct {
	Pattern string  `json:"pattern"`
	Path    string  `json:"path,omitempty"`
	Limit   float64 `json:"limit,omitempty"`
}

func (in GlobArguments) title() string {
	return strings.TrimSuffix(fmt.Sprintf("glob %s in %s", in.Pattern, in.Path), " in ")
}

func (c Config) glob(ctx context.Context, in GlobArguments) (tool.Result, error) {
	call, _ := tool.CallFrom(ctx)
	g, err := newGlob(in.Pattern)
	if err != nil {
		return tool.Result{}, err
	}
	root, err := c.locateDir(call, GlobRoot(in.Path, in.Pattern))
	switch changed := (*disk.ChangedError)(nil); {
	case err != nil && (g.base == "." || errors.As(err, &changed)):
		return tool.Result{}, err
	case err != nil:
		return tool.Result{Output: "no files match: " + err.Error()}, nil
	}
	newest := &newestFiles{limit: orDefault(in.Limit, defaultFiles)}
	bounded, cancel := c.bound(ctx)
	defer cancel()
	err = walk(bounded, root, func(e entry) error {
		if e.IsDir() {
			return g.enter(e)
		}
		if g.matches(e.rel) {
			newest.add(e)
		}
		return nil
	})
	if output, stopped := slow(bounded, newest.render(call.Dir)); stopped || err == nil {
		return tool.Result{Output: output}, nil
	}
	return tool.Result{}, err
}

// glob is a pattern, split into its leading directory and the pattern below it.
type glob struct {
	base  string // "." for none
	rest  string
	depth int // maximum depth of a match below base; 0 for any depth
}

func newGlob(pattern string) (*glob, error) {
	if !doublestar.ValidatePattern(pattern) {
		return nil, fmt.Errorf("%q is not a valid glob; is a bracket or brace left open?", pattern)
	}
	pattern = filepath.ToSlash(pattern)
	if !strings.Contains(pattern, "/") {
		return &glob{base: ".", rest: pattern}, nil
	}
	base, rest := doublestar.SplitPattern(path.Clean(pattern))
	g := &glob{base: base, rest: rest}
	if !strings.Contains(rest, "**") && !strings.Contains(rest, "{") {
		g.depth = strings.Count(rest, "/") + 1
	}
	if !strings.Contains(rest, "/") {
		g.rest = "./" + rest // Not at every depth, because the pattern had a slash.
	}
	return g, nil
}

// matches matches a path relative to base, with slashes.
func (g *glob) matches(rel string) bool {
	if !strings.Contains(g.rest, "/") {
		return doublestar.MatchUnvalidated(g.rest, path.Base(rel))
	}
	return doublestar.MatchUnvalidated(strings.TrimPrefix(g.rest, "./"), rel)
}

// enter skips a directory that is too deep.
func (g *glob) enter(e entry) error {
	if g.depth > 0 && e.depth() >= g.depth {
		return errSkip
	}
	return nil
}

// GlobRoot returns the directory that a glob searches, by its arguments: the leading part
// of the pattern without wildcards.
func GlobRoot(dir, pattern string) string {
	g, err := newGlob(pattern)
	if err != nil || g.base == "." {
		return dir
	}
	base := filepath.FromSlash(g.base)
	if filepath.IsAbs(base) {
		return base
	}
	return filepath.Join(dir, base)
}

// trimBatch is the number of files over the limit that are kept before a sort.
const trimBatch = 1024

// newestFiles keeps the newest of any number of files.
type newestFiles struct {
	limit int
	files []*foundFile
	total int
}

type foundFile struct {
	path string
	at   time.Time
}

func (n *newestFiles) add(e entry) {
	info, err := e.in.Lstat(e.Name())
	if err != nil {
		return // removed in the meantime
	}
	n.total++
	n.files = append(n.files, &foundFile{e.path, info.ModTime()})
	if len(n.files) >= 2*n.limit+trimBatch {
		n.trim()
	}
}

// trim sorts the files, newest first and then by name, and drops files over the limit.
func (n *newestFiles) trim() {
	slices.SortFunc(n.files, func(a, b *foundFile) int {
		if c := b.at.Compare(a.at); c != 0 {
			return c
		}
		return strings.Compare(a.path, b.path)
	})
	n.files = n.files[:min(len(n.files), n.limit)]
}

func (n *newestFiles) render(dir string) string {
	if n.total == 0 {
		return "no files match"
	}
	n.trim()
	var b strings.Builder
	for _, f := range n.files {
		fmt.Fprintln(&b, disk.Display(dir, f.path))
	}
	if n.total > len(n.files) {
		fmt.Fprintf(&b, "(the %d newest of %d files; a narrower pattern or path shows others)\n", len(n.files), n.total)
	}
	return b.String()
}
