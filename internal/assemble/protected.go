package assemble

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/policy"
)

// protected returns the files in folders that other programs obey later: git, shells,
// editors, and agents. keepsGit protects the whole repository.
func protected(folders []string, keepsGit bool) (list []string) {
	git := []string{".git/hooks", ".git/config", ".git/config.worktree"}
	if keepsGit {
		git = []string{".git"}
	}
	for _, dir := range folders {
		names := append(policy.ProtectedNames(), git...)
		if filepath.Base(dir) == ".git" || filepath.Base(filepath.Dir(dir)) == "worktrees" {
			names = []string{"hooks", "config", "config.worktree", "commondir"}
		}
		for _, name := range names {
			if path := filepath.Join(dir, filepath.FromSlash(name)); disk.Exists(path) {
				list = append(list, path)
			}
		}
	}
	return list
}

// startFiles are the files that shells of the user run.
func (s sandboxing) startFiles() (list []string) {
	if s.home == "" {
		return nil
	}
	for _, name := range policy.ShellStartFiles() {
		list = append(list, filepath.Join(s.home, name))
	}
	return list
}

// ownFiles returns the files and folders of the user's own configuration that are in
// writable folders: by a variable such as CLAUDE_CONFIG_DIR, or because the working
// directory has the files to which links of the home directory lead.
func (s sandboxing) ownFiles(writable []string) (list []string) {
	for _, path := range withTargets(s.userFiles, writable) {
		if inside(writable, path) && disk.Exists(path) {
			list = append(list, path)
		}
	}
	return list
}

// inside reports whether a path is below one of the folders, without links.
func inside(folders []string, path string) bool {
	return slices.ContainsFunc(folders, func(dir string) bool {
		dir = real(dir)
		return dir != path && disk.Within(dir, path)
	})
}

// Bounds of the search for links in a protected folder.
const (
	maxTargets     = 2000
	maxTargetDepth = 4
)

// withTargets adds the targets of protected links, and of links in protected folders: a
// program that obeys a link obeys its target. Targets outside of the writable folders
// need no protection.
func withTargets(protect, writable []string) []string {
	list := slices.Clone(protect)
	for _, path := range protect {
		if filepath.Base(path) == ".git" {
			continue // the guard of repositories judges links in them
		}
		for _, link := range links(path) {
			if target, err := filepath.EvalSymlinks(link); err == nil && inside(writable, target) {
				list = append(list, target)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// links returns the links in a folder, nearest first, and the path itself if it is a link
// or leads through one. What a link to a folder has is obeyed as well.
func links(path string) (list []string) {
	top := real(path)
	if top != path {
		list = append(list, path)
	}
	level, n := []string{top}, 0
	for depth := 0; depth < maxTargetDepth && len(level) > 0; depth++ {
		var next []string
		for _, dir := range level {
			entries, _ := os.ReadDir(dir) // what cannot be read is obeyed by nobody
			if n += len(entries); n > maxTargets {
				return list
			}
			for _, entry := range entries {
				switch at := filepath.Join(dir, entry.Name()); {
				case entry.Type()&fs.ModeSymlink != 0:
					list = append(list, at)
				case entry.IsDir():
					next = append(next, at)
				}
			}
		}
		level = next
	}
	return list
}

// protects returns what commands must not change in writable folders, and what they must not
// create there: protected files, the user's own configuration, what git obeys, further kept
// paths, and the targets of links. It is the one list for commands and for file tools.
func (b *sandboxes) protects(writable []string, kept ...string) (existing, absent []string) {
	existing = append(protected(writable, b.keepsGit()), b.ownFiles(writable)...)
	if b.Git != config.GitWrite {
		obeyed, missing := b.obeyed(b.repository(b.dir))
		existing, absent = slices.Concat(existing, obeyed, kept), missing
	}
	return withTargets(existing, writable), absent
}

// obeys returns the function that lists what programs outside of the sandbox obey, without
// links. A file tool that changes one of these files needs a decision about that file.
func (c *confinement) obeys(s sandboxing) func() []string {
	b := &sandboxes{sandboxing: s, confinement: c}
	return func() (list []string) {
		existing, absent := b.protects(b.writable(), c.guards.pointers()...)
		for _, path := range append(existing, absent...) {
			list = append(list, real(path))
		}
		return list
	}
}
