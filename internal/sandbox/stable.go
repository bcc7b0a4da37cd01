package sandbox

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

// Steady returns the policy without the paths that a command could have led elsewhere. A
// rule is for what its path leads to when the command starts. In a folder that commands
// can write to, or behind one, an earlier command may have put a link in the path's way.
// In such a folder, the folder's own rule holds, and no other is needed. The folders
// that commands can write to, now or earlier, are absolute.
func (p Policy) Steady(writable []string) Policy {
	const separator = string(filepath.Separator)
	var walk disk.Walk
	var roots []string
	for _, path := range writable {
		if real, err := walk.Resolve(path); err == nil {
			roots = append(roots, strings.TrimSuffix(real, separator)+separator)
		}
	}
	var loose bool
	walk.Visit = func(dir string) {
		loose = loose || slices.ContainsFunc(roots, func(root string) bool { return strings.HasPrefix(dir+separator, root) })
	}
	isLoose := func(path string) bool {
		loose = false
		_, err := walk.Resolve(path)
		return loose || err != nil
	}
	p.Read = slices.DeleteFunc(slices.Clone(p.Read), isLoose)
	p.Write = slices.DeleteFunc(slices.Clone(p.Write), isLoose)
	return p
}
