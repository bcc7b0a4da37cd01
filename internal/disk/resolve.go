package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Resolve follows all links of an absolute path, name by name as the kernel does. The path after
// the first missing name stays unchanged.
func Resolve(path string) (string, error) { return new(Walk).Resolve(path) }

// split returns the root of an absolute path, and the names in any path.
func split(path string) (root string, names []string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator), strings.Split(filepath.ToSlash(path[len(volume):]), "/")
}

// Absolute returns the absolute form of a model's path, in a session that works in dir. It
// neither expands nor resolves.
func Absolute(dir, path string) (string, error) {
	switch {
	case path == "":
		return "", fmt.Errorf("the path is empty; give one relative to %q or an absolute one", dir)
	case strings.ContainsRune(path, 0):
		return "", fmt.Errorf("the path %q contains a NUL byte; no file name can", path)
	case path == "~" || strings.HasPrefix(path, "~/") || strings.HasPrefix(path, `~\`):
		return "", fmt.Errorf(`"~" is not expanded in %q; give an absolute path or one relative to %q`, path, dir)
	case filepath.IsAbs(path):
		return filepath.Clean(path), nil
	case !filepath.IsAbs(dir):
		return "", fmt.Errorf("cannot resolve %q: the session's directory %q is not absolute", path, dir)
	}
	return filepath.Join(dir, path), nil
}

// Within reports whether an absolute path is dir or below it. Both are clean. The empty path is
// within no directory.
func Within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return path != "" && err == nil && filepath.IsLocal(rel)
}

// WithinAny reports whether an absolute path is one of the folders or below one, as [Within] does.
func WithinAny(folders []string, path string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return Within(folder, path) })
}

// Exists reports whether the path names something, which can be a link.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// AbsoluteIn returns the clean form of a path that can be relative to dir.
func AbsoluteIn(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// ExpandHome replaces "~" and "~/" at the beginning of a path by the home directory. Without a home
// directory the path stays unchanged.
func ExpandHome(path, home string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || home == "" || rest != "" && !os.IsPathSeparator(rest[0]) {
		return path
	}
	return filepath.Join(home, rest)
}

// Display returns a path for display: relative to dir if it is within dir, with slashes.
func Display(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}
