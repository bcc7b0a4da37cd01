package repo

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const maxLinks = 40 // as Linux has it

// Resolve follows all links of an absolute path, name by name as the kernel
// does. From the first name that does not exist on, it is as it is written.
func Resolve(path string) (string, error) {
	at, rest := split(path)
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		next := filepath.Join(at, name) // "." and "" change nothing, ".." goes up
		if name != ".." {
			if target, err := os.Readlink(next); err == nil {
				if links++; links > maxLinks {
					return "", fmt.Errorf("%q: too many symbolic links", path)
				}
				root, names := split(target)
				if next = at; filepath.IsAbs(target) {
					next = root
				}
				rest = append(names, rest...)
			}
		}
		at = next
	}
	return at, nil
}

// split returns the root of an absolute path, and the names in any path.
func split(path string) (root string, names []string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator), strings.Split(filepath.ToSlash(path[len(volume):]), "/")
}
