package assemble

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/sandbox"
)

// steady leaves out of a policy the paths that a command could have led elsewhere. A rule
// of a sandbox is for what its path leads to when the command starts. In a folder that
// commands can write to, or behind one, an earlier command may have put a link in the
// path's way. In such a folder, the folder's own rule holds, and no other is needed.
func steady(p sandbox.Policy, writable []string) sandbox.Policy {
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
	p.Read, p.Write = slices.DeleteFunc(p.Read, isLoose), slices.DeleteFunc(p.Write, isLoose)
	return p
}
