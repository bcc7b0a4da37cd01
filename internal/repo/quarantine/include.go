package quarantine

import (
	"os"
	"path/filepath"

	"github.com/settle-agent/settle/internal/disk"
)

// Include is a file that a configuration includes, under any condition.
type Include struct {
	// Path is absolute, and can have links and "..". The file exists.
	Path string
	// From is the including configuration.
	From string
}

// Includes returns the existing files that configurations include, directly or through other
// included files. A configuration is a path or a result of [Given].
func Includes(configs []string, home string) (list []Include) {
	readAll(configs, func(config string, variables []variable, dir string) (included []string) {
		for _, v := range variables {
			if !v.includes() || v.value == "" || len(list) == maxIncludes {
				continue
			}
			path := disk.ExpandHome(v.value, home)
			if !filepath.IsAbs(path) {
				path = dir + string(filepath.Separator) + path // not cleaned: links come before ".."
			}
			if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || !filepath.IsAbs(path) {
				continue // git ignores a missing one
			}
			list, included = append(list, Include{path, config}), append(included, path)
		}
		return included
	})
	return list
}
