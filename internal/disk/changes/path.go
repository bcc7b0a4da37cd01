package changes

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/settle-agent/settle/internal/disk"
)

// isOwn reports whether an entry belongs to a version control system or to settle: a walk does
// not record it, and a rewind does not touch it.
func isOwn(name string) bool {
	for _, own := range []string{".git", ".hg", ".svn", ".jj"} {
		if strings.EqualFold(name, own) { // file systems can ignore case
			return true
		}
	}
	return disk.IsTempName(name)
}

// checkPath rejects paths that no walk returns: a log can have been changed.
func checkPath(name string) error {
	local := filepath.FromSlash(name)
	if name == "." || path.Clean(name) != name || !filepath.IsLocal(local) || !utf8.ValidString(name) {
		return fmt.Errorf("%q is no path in the directory", name)
	}
	for part := range strings.SplitSeq(name, "/") {
		if isOwn(part) {
			return fmt.Errorf("%q belongs to git or to settle", name)
		}
	}
	return nil
}
