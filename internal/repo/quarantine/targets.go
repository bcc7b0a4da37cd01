package quarantine

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

// Targets are the places that programs of the user obey at some paths. No path has a link in
// the folders above its last name.
type Targets struct {
	// Existing are files and folders, which are no links, and Absent are paths at which nothing
	// exists yet, or a link to an interpreter, see isInterpreter.
	Existing, Absent []string
	// Links are the links on the way. Another file or link in the place of one of them is obeyed
	// as well.
	Links []string
}

// Bounds of the search for links.
const (
	maxFollowed       = 4000   // paths that one call of Follow follows
	maxEntries        = 2000   // entries of a folder and of the folders in it
	maxDepthOfLinks   = 4      // of folders that are not in a repository
	maxRepositoryList = 50_000 // entries of a repository with its submodules
)

// Places are the places that commands can change: below Folders and not in Except. All are absolute
// and without links.
type Places struct{ Folders, Except []string }

// has reports whether a command can change a path without links.
func (p Places) has(path string) bool {
	return slices.ContainsFunc(p.Folders, func(folder string) bool {
		return folder != path && disk.Within(folder, path)
	}) && !disk.WithinAny(p.Except, path)
}

// around reports whether a path is one of the folders or above one.
func (p Places) around(path string) bool {
	return slices.ContainsFunc(p.Folders, func(folder string) bool { return disk.Within(path, folder) })
}

// Follow follows paths as the kernel does, and returns the targets and links in some places. What
// a folder has is obeyed as well, so that it also follows the links in folders; not in a folder
// around a place, which is no target itself: the place has the work of the user.
func Follow(paths []string, places Places) (t Targets) {
	seen := map[string]bool{}
	for queue := slices.Clone(paths); len(queue) > 0 && len(seen) < maxFollowed; {
		path := queue[0]
		if queue = queue[1:]; seen[path] {
			continue
		}
		seen[path] = true
		links, target := route(path)
		into := &t.Links
		if isInterpreter(links, target, places.has) {
			into = &t.Absent
		}
		for _, link := range links {
			if places.has(link) {
				*into = append(*into, link)
			}
		}
		if target == "" {
			continue
		}
		info, err := os.Lstat(target)
		switch {
		case err != nil && places.has(target):
			t.Absent = append(t.Absent, target)
		case err == nil && places.has(target):
			t.Existing = append(t.Existing, target)
		}
		if err == nil && info.IsDir() && (target == path || !seen[target]) &&
			(places.has(target) || !places.around(target)) {
			seen[target] = true
			queue = append(queue, LinksIn(target)...)
		}
	}
	return t.sorted()
}

// isInterpreter reports whether the links on the way to a target are those of a virtual environment
// of Python to the interpreter itself, such as .venv/bin/python3 -> /usr/bin/python3, which no
// command can change. A command may make such an environment again.
func isInterpreter(links []string, target string, changeable func(path string) bool) bool {
	if !slices.ContainsFunc(links, changeable) || changeable(target) || !isPython(target) {
		return false
	}
	for _, link := range links {
		if changeable(link) && !isPython(link) {
			return false
		}
	}
	info, err := os.Lstat(target)
	return err == nil && info.Mode().IsRegular()
}

// isPython reports whether a file has a name of the interpreter, such as python3.13.
func isPython(path string) bool {
	return strings.TrimRight(filepath.Base(path), "0123456789.") == "python"
}

// With returns both targets.
func (t Targets) With(u Targets) Targets {
	return Targets{
		slices.Concat(t.Existing, u.Existing), slices.Concat(t.Absent, u.Absent), slices.Concat(t.Links, u.Links),
	}.sorted()
}

func (t Targets) sorted() Targets {
	for _, list := range []*[]string{&t.Existing, &t.Absent, &t.Links} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return t
}

// route follows an absolute path name by name. It returns the links on the way, and the
// target; what follows a missing name stays unchanged. A loop of links has no target.
func route(path string) (links []string, target string) {
	at := filepath.VolumeName(path) + string(filepath.Separator)
	names := strings.Split(filepath.ToSlash(path), "/")
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		to, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		if links = append(links, next); len(links) > maxLinks {
			return links, ""
		}
		if filepath.IsAbs(to) {
			at = filepath.VolumeName(to) + string(filepath.Separator)
		}
		names = slices.Concat(strings.Split(filepath.ToSlash(to), "/"), names)
	}
	return links, at
}

// obeyedNames are the entries of a repository's folder by which git may run a program. The other
// entries are data, such as objects and refs.
const obeyedNames = ` branches commondir config config.worktree gitdir hooks info modules rebase-apply rebase-merge
	remotes sequencer worktrees `

// isObeyed reports whether git may run a program by an entry of a repository's folder.
func isObeyed(entry string) bool {
	first, _, _ := strings.Cut(filepath.ToSlash(entry), "/")
	return slices.Contains(strings.Fields(obeyedNames), first)
}

// LinksIn returns the links in a folder and in the folders below it, nearest first. In
// repositories, also those of submodules, it returns only the links that git obeys, and does
// not read the rest. It does not read folders of packages (node_modules), which have a link for
// each program and package.
func LinksIn(top string) (links []string) {
	type level struct {
		dir   string
		depth int
	}
	read, limit := 0, maxEntries
	for queue := []level{{top, 0}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		entries, _ := os.ReadDir(at.dir) // what cannot be read is obeyed by nobody
		has := func(name string) bool {
			return slices.ContainsFunc(entries, func(entry fs.DirEntry) bool { return entry.Name() == name })
		}
		isRepository := has("objects") && has("refs") || has("HEAD") && has("commondir")
		if isRepository {
			at.depth, limit = -1, maxRepositoryList // the names of submodules can have slashes
		}
		for _, entry := range entries {
			if isRepository && !isObeyed(entry.Name()) {
				continue
			}
			if read++; read > limit {
				return links
			}
			switch path := filepath.Join(at.dir, entry.Name()); {
			case entry.Type()&fs.ModeSymlink != 0:
				links = append(links, path)
			case entry.IsDir() && at.depth+1 < maxDepthOfLinks && (isRepository || entry.Name() != "node_modules"):
				queue = append(queue, level{path, at.depth + 1})
			}
		}
	}
	return links
}
