package repo

import (
	"os"
	"path/filepath"
	"slices"
)

// Root returns the root of the repository that contains dir, an absolute path: the nearest
// parent with a .git, which is a file in worktrees and submodules. Without one, ok is
// false.
func Root(dir string) (root string, ok bool) {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at, true
		}
		if at == filepath.Dir(at) {
			return "", false
		}
	}
}

// Path returns the directories from the repository's root down to dir. Without a
// repository, it returns dir alone.
func Path(dir string) []string {
	dir = filepath.Clean(dir)
	root, ok := Root(dir)
	if !ok {
		return []string{dir}
	}
	path := []string{dir}
	for at := dir; at != root; {
		at = filepath.Dir(at)
		path = append(path, at)
	}
	slices.Reverse(path)
	return path
}
