package search

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/disk/ignore"
	"github.com/settle-agent/settle/tool"
)

const (
	defaultDepth   = 2
	defaultEntries = 200
	// maxDirEntries bounds the entries of one directory that are read.
	maxDirEntries = 20_000
)

var listSchema = sync.OnceValue(func() tool.Option {
	return tool.WithSchema(`{
	"type": "object",
	"properties": {
		"path": {"type": "string", "description": "Directory to list; the working directory by default."},
		"depth": {"type": "integer", "minimum": 1, "maximum": 10, "description": "Levels to show; 2 by default."},
		"limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "Number of entries; 200 by default."}
	},
	"additionalProperties": false
}`)
})

// listTool returns the tool list.
func (c Config) listTool() tool.Tool {
	return tool.Must(tool.New("list",
		"Shows a directory as a tree, without files that .gitignore excludes. Directories end in a slash; "+
			"entries beyond the depth or number limit are counted.",
		c.list, listSchema(), tool.ReadOnly(), tool.WithTitle(ListArguments.title)))
}

// ListArguments are the arguments of list.
type ListArguments struct {
	Path  string  `json:"path,omitempty"`
	Depth float64 `json:"depth,omitempty"`
	Limit float64 `json:"limit,omitempty"`
}

func (in ListArguments) title() string {
	if in.Path == "" {
		return "list ."
	}
	return "list " + in.Path
}

func (c Config) list(ctx context.Context, in ListArguments) (tool.Result, error) {
	call, _ := tool.CallFrom(ctx)
	root, err := c.locateDir(call, in.Path)
	if err != nil {
		return tool.Result{}, err
	}
	t := &tree{ctx: ctx, room: orDefault(in.Limit, defaultEntries)}
	top, err := t.build(root, orDefault(in.Depth, defaultDepth))
	if err != nil {
		return tool.Result{}, fmt.Errorf("cannot list %q: %w", root.Shown, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s/\n", strings.TrimSuffix(root.Shown, "/"))
	top.render(&b, 1)
	return tool.Result{Output: b.String()}, nil
}

// tree is filled level by level, so that a large directory does not use the room of its
// siblings.
type tree struct {
	ctx  context.Context
	root *disk.Dir
	room int // number of entries that can still be shown
}

// node is a directory, or an entry of one.
type node struct {
	name      string
	mark      string // "/" for a directory, "@" for a link
	below     string // path from the root, with slashes
	rel       string // path from the top of the repository, with a slash
	ig        *ignore.Rules
	children  []*node
	hidden    int // number of entries that are not shown
	truncated bool
	unread    bool // the directory could not be read
}

func (t *tree) build(root disk.Place, depth int) (*node, error) {
	d, err := root.Tree()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	t.root = d
	ig, rel := ignore.Above(root.Real)
	top := &node{below: ".", rel: rel, ig: ig, mark: "/"}
	if err := t.fill(top); err != nil {
		return nil, err
	}
	level := top.children
	for d := 1; len(level) > 0; d++ {
		var below []*node
		for _, n := range level {
			if n.mark != "/" {
				continue
			}
			room := t.room
			if d >= depth {
				t.room = 0 // only count
			}
			if err := t.fill(n); err != nil {
				if t.ctx.Err() != nil {
					return nil, err
				}
				n.unread = true
			}
			if d >= depth {
				t.room = room
			}
			below = append(below, n.children...)
		}
		level = below
	}
	return top, nil
}

// fill reads a directory and shows as many entries as fit.
func (t *tree) fill(n *node) error {
	d, err := t.root.Below(n.below)
	if err != nil {
		return err
	}
	defer d.Close()
	entries, err := readDir(t.ctx, d, maxDirEntries)
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	if err != nil {
		return err
	}
	n.truncated = len(entries) >= maxDirEntries
	ig := n.ig.Enter(d, n.rel, ignore.OnDisk(d))
	for _, e := range entries {
		if e.Name() == ".git" || ig.Ignored(n.rel+e.Name(), e.IsDir()) {
			continue
		}
		if t.room == 0 {
			n.hidden++
			continue
		}
		t.room--
		child := &node{name: e.Name(), below: path.Join(n.below, e.Name()), rel: n.rel + e.Name() + "/", ig: ig}
		switch {
		case e.IsDir():
			child.mark = "/"
		case e.Type()&fs.ModeSymlink != 0:
			child.mark = "@"
		}
		n.children = append(n.children, child)
	}
	return nil
}

func (n *node) render(b *strings.Builder, depth int) {
	indent := strings.Repeat("  ", depth)
	for _, c := range n.children {
		fmt.Fprintf(b, "%s%s%s%s\n", indent, strings.ToValidUTF8(printable(c.name), "\uFFFD"), c.mark, c.note())
		c.render(b, depth+1)
	}
	if n.hidden > 0 && len(n.children) > 0 {
		fmt.Fprintf(b, "%s… %s\n", indent, n.more("more"))
	} else if n.hidden > 0 && depth == 1 {
		fmt.Fprintf(b, "%s(%s)\n", indent, n.more("not shown"))
	}
	if depth == 1 && len(n.children) == 0 && n.hidden == 0 {
		fmt.Fprintf(b, "%s(empty)\n", indent)
	}
}

// note describes the entries of a directory that are not shown.
func (n *node) note() string {
	switch {
	case n.unread:
		return " (cannot be read)"
	case n.hidden > 0 && len(n.children) == 0:
		return " (" + n.more("not shown") + ")"
	}
	return ""
}

func (n *node) more(what string) string {
	if n.truncated {
		return fmt.Sprintf("over %d %s", n.hidden, what)
	}
	return fmt.Sprintf("%d %s", n.hidden, what)
}

// printable shows names with line breaks on one line.
func printable(name string) string {
	return strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(name)
}
