package disk

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Resolve returns the absolute path that a model means by path, in a session
// that works in dir. Nothing is expanded; links are not resolved.
func Resolve(dir, path string) (string, error) {
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

// Display returns the path as it is shown: relative to dir where it lies in
// it, with slashes.
func Display(dir, path string) string {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return filepath.ToSlash(path)
	}
	return filepath.ToSlash(rel)
}
