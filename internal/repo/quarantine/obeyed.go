package quarantine

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/disk"
)

// maxIncludes bounds the configurations that are read, including included ones.
const maxIncludes = 32

// Obeyed returns the files and folders in a work tree that git runs or obeys because the
// user's own configurations name them, such as a core.hooksPath or the script of a filter:
// existing paths, and absent paths. inside selects the paths that matter.
func Obeyed(configs []string, top, home string, inside func(path string) bool) (existing, absent []string) {
	seen := map[string]bool{}
	for len(configs) > 0 && len(seen) < maxIncludes {
		config := configs[0]
		if configs = configs[1:]; seen[config] {
			continue
		}
		seen[config] = true
		data, _, err := disk.Read(config, maxFile)
		if err != nil {
			continue
		}
		for _, v := range lenient(string(data)) {
			for _, path := range v.paths(filepath.Dir(config), top, home) {
				real := resolve(top, path)
				info, err := os.Stat(path)
				if included := v.includes(); included && err == nil {
					configs = append(configs, path)
				}
				switch {
				case !inside(real):
				case err == nil && (info.Mode().IsRegular() || v.isPath()):
					existing = append(existing, real)
				case err != nil && v.isPath():
					absent = append(absent, real)
				}
			}
		}
	}
	slices.Sort(existing)
	slices.Sort(absent)
	return slices.Compact(existing), slices.Compact(absent)
}

var looseSection = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\[\s*([A-Za-z0-9.-]+)(?:\s+"(.*?)")?\s*\](.*)$`)
})

// lenient reads a configuration that the user wrote in any form.
func lenient(text string) (list []variable) {
	section, sub := "", ""
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", "")) {
		line = strings.TrimSpace(line)
		if m := looseSection().FindStringSubmatch(line); m != nil {
			section, sub, line = strings.ToLower(m[1]), m[2], strings.TrimSpace(m[3])
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || line[0] == '#' || line[0] == ';' {
			continue
		}
		value = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `"`, "").Replace(strings.TrimSpace(value))
		list = append(list, variable{section, sub, strings.ToLower(strings.TrimSpace(key)), value})
	}
	return list
}

func (v variable) includes() bool {
	return (v.section == "include" || v.section == "includeif") && v.key == "path"
}

// isPath reports whether the value is a path and nothing else.
func (v variable) isPath() bool {
	return v.includes() || slices.Contains([]string{"core.hookspath", "core.attributesfile", "init.templatedir"}, v.section+"."+v.key)
}

// paths returns the absolute paths that the value names.
func (v variable) paths(dir, top, home string) (list []string) {
	if _, ok := v.harmless(); ok {
		return nil
	}
	words := []string{v.value}
	if !v.isPath() {
		words = strings.FieldsFunc(v.value, func(r rune) bool { return strings.ContainsRune(" \t!;&|()<>`'\"$=", r) })
		words = slices.DeleteFunc(words, func(word string) bool { return !strings.Contains(word, "/") || strings.Contains(word, "://") })
	}
	from := top
	if v.includes() {
		from = dir
	}
	for _, word := range words {
		if rest, ok := strings.CutPrefix(word, "~/"); ok {
			word = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(word) {
			word = filepath.Join(from, word)
		}
		list = append(list, filepath.Clean(word))
	}
	return list
}
