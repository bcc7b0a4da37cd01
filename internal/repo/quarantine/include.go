package quarantine

import (
	"os"
	"path/filepath"
	"strings"
)

// Include is a file that a configuration includes, under any condition.
type Include struct {
	// Path is absolute, and can have links and "..". The file exists.
	Path string
	// From is the including configuration.
	From string
}

// Includes returns the files that configurations include, and those that these include in turn. A
// configuration is a path or a result of [Given].
func Includes(configs []string, home string) (list []Include) {
	seen := map[string]bool{}
	for len(configs) > 0 && len(seen) < maxIncludes {
		config := configs[0]
		if configs = configs[1:]; seen[config] {
			continue
		}
		seen[config] = true
		variables, dir := readConfig(config)
		for _, v := range variables {
			if !v.includes() || v.value == "" || len(list) == maxIncludes {
				continue
			}
			path := v.value
			if rest, ok := strings.CutPrefix(path, "~/"); ok {
				path = filepath.Join(home, rest)
			} else if !filepath.IsAbs(path) {
				path = dir + string(filepath.Separator) + path // not cleaned: links come before ".."
			}
			if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || !filepath.IsAbs(path) {
				continue // git ignores a missing one
			}
			list, configs = append(list, Include{path, config}), append(configs, path)
		}
	}
	return list
}
