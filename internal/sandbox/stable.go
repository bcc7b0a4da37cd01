package sandbox

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

// Steady returns the policy without the paths that an earlier command could have redirected. A
// rule applies to the target of its path at the command's start. A path through a writable
// folder can have a new link; in such a folder the folder's own rule suffices. The paths in
// writable, which current or earlier commands can change, are absolute.
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
		loose = loose ||
			slices.ContainsFunc(roots, func(root string) bool { return strings.HasPrefix(dir+separator, root) })
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
