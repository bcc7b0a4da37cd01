package files

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/repo"
	"github.com/settle-agent/settle/tool/search"
)

const (
	// maxWalked bounds the number of files of a walk, and walkTimeout its duration.
	maxWalked   = 50_000
	walkTimeout = 2 * time.Second
	// maxPaths bounds the paths that are kept of an index.
	maxPaths = 300_000
)

// List is the files and directories below a directory.
type List struct{ paths []candidate }

type candidate struct {
	path, folded string // folded has no capitals
	base         int    // where the last name begins
}

// Read lists the files below a directory, and their directories.
func Read(ctx context.Context, dir string) *List {
	ctx, cancel := context.WithTimeout(ctx, walkTimeout)
	defer cancel()
	names := append(tracked(dir), search.Names(ctx, dir, maxWalked)...)
	return newList(names)
}

// tracked returns the paths that git tracks below the directory.
func tracked(dir string) (names []string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	git, err := repo.FindGit(real)
	if err != nil || git.Top == "" {
		return nil
	}
	below, err := filepath.Rel(git.Top, real)
	if err != nil {
		return nil
	}
	prefix := ""
	if below != "." {
		prefix = filepath.ToSlash(below) + "/"
	}
	index, err := git.Index()
	if err != nil { // of a kind that is not known: the walk finds the files
		return nil
	}
	for _, name := range index.Names {
		if rest, ok := strings.CutPrefix(name, prefix); ok && len(names) < maxPaths {
			names = append(names, rest)
		}
	}
	return names
}

// newList makes a list of files, with the directories that they are in.
func newList(names []string) *List {
	seen := make(map[string]bool, len(names))
	all := make([]string, 0, len(names))
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			all = append(all, name)
		}
	}
	for _, name := range names {
		if strings.ContainsAny(name, "\n\x00") {
			continue
		}
		add(name)
		for dir := path.Dir(name); dir != "." && !seen[dir+"/"]; dir = path.Dir(dir) {
			add(dir + "/")
		}
	}
	slices.Sort(all)
	l := &List{paths: make([]candidate, len(all))}
	for n, name := range all {
		l.paths[n] = candidate{
			name,
			strings.ToLower(name),
			strings.LastIndexByte(strings.TrimSuffix(name, "/"), '/') + 1,
		}
	}
	return l
}
