package quarantine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

// maxIncludes bounds the configurations that are read, including included ones.
const maxIncludes = 32

// Obeyed returns the files and folders in a work tree that git runs or obeys because the
// user's own configurations name them, such as a core.hooksPath or the script of a filter. A
// configuration is a path or a result of [Given]. places selects the paths that matter.
func Obeyed(configs []string, top, home string, places Places) Targets {
	return Follow(obeyedPaths(configs, top, home), places)
}

// Named returns the existing ones of the places at which git looks for what it runs or obeys because
// configurations name them, without other words of commands.
func Named(configs []string, top, home string, places Places) (paths []string) {
	readAll(configs, func(_ string, list []variable, dir string) (included []string) {
		for _, v := range list {
			programs, _ := v.programs(top, home)
			if v.isPath() {
				programs = v.paths(dir, top, home)
			}
			if paths = append(paths, programs...); v.includes() {
				included = append(included, programs...)
			}
		}
		return included
	})
	return Follow(paths, places).Existing
}

// watchNamed adds the places that a configuration names since the last command began. Another
// command runs, which can have made what exists there: it is reported, and stays where it is.
func (g *Guard) watchNamed() {
	report := func(path string) {
		g.findings = append(g.findings, Finding{
			Path: path,
			Why: "git runs or obeys it, by a configuration that changed while a sandboxed command ran, and it existed" +
				" before settle knew that; it may be yours, and stays where it is: look at it before you run git there",
		})
	}
	for _, path := range slices.Concat(g.area.Obeyed, g.area.Above, g.nested().Absent) {
		if _, known := g.obeyed[path]; known {
			continue
		}
		g.obeyed[path] = false
		if !disk.Exists(path) {
			continue
		}
		if g.pythons[path] = g.isInterpreter(path); !g.pythons[path] {
			g.obeyed[path] = true
			report(path)
		}
	}
	if g.named == nil {
		g.named = setOf(g.area.Named)
	}
	for _, path := range g.area.Named {
		if _, known := g.obeyed[path]; !known && !g.named[path] {
			g.named[path] = true
			report(path)
		}
	}
}

func setOf(list []string) map[string]bool {
	set := map[string]bool{}
	for _, element := range list {
		set[element] = true
	}
	return set
}

// obeyedPaths returns the paths that configurations name, as git would open them. Words of
// commands that are no path are missing: neither a file has the name nor does the command
// start a program there.
func obeyedPaths(configs []string, top, home string) (paths []string) {
	readAll(configs, func(_ string, list []variable, dir string) (included []string) {
		for _, v := range list {
			for _, path := range v.paths(dir, top, home) {
				info, err := os.Stat(path)
				if v.includes() && err == nil {
					included = append(included, path)
				}
				if v.isPath() || err == nil && info.Mode().IsRegular() || err != nil && disk.Exists(path) {
					paths = append(paths, path)
				}
			}
			programs, _ := v.programs(top, home)
			for _, path := range programs {
				if !disk.Exists(path) {
					paths = append(paths, path)
				}
			}
		}
		return included
	})
	return paths
}

// readAll calls visit once for each configuration, with its variables and the directory of its relative
// includes, and for the configurations that visit returns.
func readAll(configs []string, visit func(config string, list []variable, dir string) (included []string)) {
	seen := map[string]bool{}
	for len(configs) > 0 && len(seen) < maxIncludes {
		config := configs[0]
		if configs = configs[1:]; seen[config] {
			continue
		}
		seen[config] = true
		list, dir := readConfig(config)
		configs = append(configs, visit(config, list, dir)...)
	}
}

func (v variable) includes() bool {
	return (v.section == "include" || v.section == "includeif") && v.key == "path"
}

// isPath reports whether the value is a path and nothing else.
func (v variable) isPath() bool {
	return v.includes() ||
		slices.Contains([]string{"core.hookspath", "core.attributesfile", "init.templatedir"}, v.section+"."+v.key)
}

// configOf has the file that a program reads its commands from, in its directory.
var configOf = map[string][]string{
	"make": {
		"Makefile",
		"makefile",
		"GNUmakefile",
	},
	"gmake": {"Makefile", "makefile", "GNUmakefile"},
	"just":  {"justfile", "Justfile", ".justfile"},
	"npm": {
		"package.json",
	},
	"npx":  {"package.json"},
	"yarn": {"package.json"},
	"pnpm": {"package.json"},
	"bun":  {"package.json"},
	"rake": {"Rakefile"},
	"task": {"Taskfile.yml"},
}

// words splits the value as a shell would, and at the marks of variables and commands too.
func (v variable) words() []string {
	return strings.FieldsFunc(v.value, func(r rune) bool { return strings.ContainsRune(" \t!;&|()<>`'\"$={},:", r) })
}

// paths returns the absolute paths that the value names. A word of a command may be a path
// from the top or from a folder that the command enters; what precedes a "/" may be a
// variable.
func (v variable) paths(dir, top, home string) (list []string) {
	if _, ok := v.harmless(); ok {
		return nil
	}
	from := top
	if v.includes() {
		from = dir
	}
	if v.isPath() {
		return []string{absolute(from, v.value, home)}
	}
	words := v.words()
	folders := []string{top}
	for _, word := range words {
		if info, err := os.Stat(absolute(top, word, home)); err == nil && info.IsDir() && len(folders) < maxIncludes {
			folders = append(folders, absolute(top, word, home))
		}
	}
	for _, word := range words {
		for rest, more := word, true; more; _, rest, more = strings.Cut(rest, "/") {
			for _, folder := range folders {
				list = append(list, matches(absolute(folder, rest, home))...)
			}
		}
		for _, name := range configOf[word] {
			for _, folder := range folders {
				list = append(list, absolute(folder, name, home))
			}
		}
	}
	return list
}

// matches expands a pattern of a shell.
func matches(path string) []string {
	if !strings.ContainsAny(path, "*?[") {
		return []string{path}
	}
	list, _ := filepath.Glob(path) // a pattern that is none matches nothing
	return list[:min(len(list), maxIncludes)]
}

// absolute returns an absolute path. It is not cleaned, because links come before "..".
func absolute(from, path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		from, path = home, rest
	}
	if filepath.IsAbs(path) {
		return path
	}
	return from + string(filepath.Separator) + path
}

// Unread returns the variables of configurations whose commands may run files of the work
// tree that [Obeyed] cannot know, such as the rules of a Makefile.
func Unread(configs []string, top, home string) (list []string) {
	for _, config := range configs {
		variables, dir := readConfig(config)
		for _, v := range variables {
			if _, ok := v.harmless(); !ok && v.unread(dir, top, home) {
				list = append(list, v.String())
			}
		}
	}
	return list
}

// unread reports whether the value starts a program that runs the content of other files, or has a
// path with a variable or a pattern that leads to no file.
func (v variable) unread(dir, top, home string) bool {
	if v.isPath() { // of another user, or of git's installation
		return strings.HasPrefix(v.value, "%(") || strings.HasPrefix(v.value, "~") && !strings.HasPrefix(v.value, "~/")
	}
	if slices.ContainsFunc(v.words(), func(word string) bool { return configOf[word] != nil || word == "eval" }) {
		return true
	}
	if _, isCertain := v.programs(top, home); !isCertain {
		return true
	}
	value := atTop(v.value, top)
	runs := v.isCommand() && strings.Contains(value, "/") && // what another command prints
		(strings.Contains(value, "`") || strings.Contains(value, "$("))
	if !runs && !slices.ContainsFunc(
		strings.Fields(value),
		func(word string) bool { return strings.Contains(word, "/") && strings.ContainsAny(word, "$`*?[") },
	) {
		return false
	}
	return !slices.ContainsFunc(v.paths(dir, top, home), func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular()
	})
}

// nested returns what git runs or obeys in the work trees of other known repositories: by the
// user's configurations, and by links in the repositories.
func (g *Guard) nested() (t Targets) {
	for path, r := range g.known {
		if g.look.mustEnd() {
			continue
		}
		top, configs := topOf(path), g.area.Configs
		at := path
		if !r.folder {
			data, err := read(g.bases[r.base], r.rel)
			to, ok := pointer(data)
			switch {
			case err != nil: // a link, as far as it is the user's
				_, at = route(path)
			case !ok:
				continue
			default:
				if at, ok = g.follow(top, to); !ok {
					continue // it is moved aside
				}
			}
			configs = append(slices.Clip(configs), filepath.Join(filepath.Dir(filepath.Dir(at)), "config"))
		}
		configs = append(slices.Clip(configs), filepath.Join(at, "config"), filepath.Join(at, "config.worktree"))
		paths := obeyedPaths(configs, top, g.area.Home)
		for name := range r.links {
			link := filepath.Join(path, filepath.FromSlash(name))
			if _, err := os.Readlink(link); err == nil && r.folder && isObeyed(name) {
				paths = append(paths, link)
			}
		}
		one := Follow(paths, g.places())
		t.Existing, t.Absent = append(t.Existing, one.Existing...), append(t.Absent, one.Absent...)
		t.Links = append(t.Links, one.Links...)
	}
	return t.sorted()
}

// topOf returns the folder that git takes relative paths of a repository's configuration
// from: its work tree, or the repository itself if it has none.
func topOf(path string) string {
	if filepath.Base(path) == ".git" {
		return filepath.Dir(path)
	}
	return path
}

// inTree reports whether a command can change a path below a base.
func (g *Guard) inTree(path string) bool { return g.places().has(path) }

// places are the places that looks read.
func (g *Guard) places() Places { return Places{g.area.Look, g.area.Keep} }

// moveNewObeyed moves folders aside that the user's own configurations name in the work trees of
// new repositories, such as a relative core.hooksPath.
func (g *Guard) moveNewObeyed() {
	for path, r := range g.known {
		top := topOf(path)
		if g.users[top] || r.mayBeUsers || g.look.mustEnd() {
			continue
		}
		for _, at := range obeyedPaths(g.area.Configs, top, g.area.Home) {
			if !strings.HasPrefix(at, top+string(filepath.Separator)) {
				continue // an absolute path is judged for all repositories
			}
			if info, err := os.Stat(at); err != nil || !info.IsDir() { // a file is a word of some command
				continue
			}
			links, target := route(at)
			if n := slices.IndexFunc(links, g.inTree); n >= 0 {
				target = links[n]
			}
			if g.inTree(target) {
				g.moveObeyed(target)
			}
		}
	}
}
