package quarantine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// folder is a folder of the walk.
type folder struct {
	base string
	up   *folder // nil for a base
	name string
	repo *record // the repository of the folder or around it; nil for none
}

// rel is the path from the base.
func (f *folder) rel() string {
	if f.up == nil {
		return "."
	}
	return filepath.Join(f.up.rel(), f.name)
}

// walk reads a folder of a base, and all folders below it.
func (g *Guard) walk(base string) {
	root := g.bases[base]
	dir, err := root.OpenRoot(".")
	if err != nil {
		return
	}
	g.search(dir, &folder{base: base}, 0)
}

// descend reads a new folder inside another one.
func (g *Guard) descend(up *folder, name string) {
	rel := filepath.Join(up.rel(), name)
	if g.kept(filepath.Join(up.base, rel)) {
		return
	}
	if info, err := g.bases[up.base].Lstat(rel); err != nil || !info.IsDir() {
		return // the folder is gone, or a link
	}
	dir, err := g.open(g.bases[up.base], rel)
	if err != nil {
		g.blind(up, name, err)
		return
	}
	g.search(dir, &folder{up.base, up, name, up.repo}, strings.Count(rel, string(filepath.Separator)))
}

// search reads an open folder, and closes it.
func (g *Guard) search(dir *os.Root, f *folder, depth int) {
	defer dir.Close()
	if g.look.countFolder() {
		return
	}
	file, err := dir.Open(".")
	if err != nil {
		g.blind(f.up, f.name, err)
		return
	}
	g.watched(file, f) // watched before it is listed, so that no name is missed
	if r := g.repository(dir, f); r != nil {
		f.repo = r
	}
	var below []string
	err = g.look.entries(file, func(entry os.DirEntry) {
		if !entry.IsDir() {
			g.file(f, entry.Name(), entry.Type())
		} else if !g.kept(filepath.Join(f.base, f.rel(), entry.Name())) {
			below = append(below, entry.Name())
		}
	})
	_ = file.Close()
	if err == nil && depth > maxDepth {
		err = errTooDeep
	}
	if err != nil {
		g.blind(f.up, f.name, err)
		return
	}
	for _, name := range below {
		if g.look.mustEnd() {
			return
		}
		folderBelow, err := g.open(dir, name)
		if err != nil {
			g.blind(f, name, err)
			continue
		}
		g.search(folderBelow, &folder{f.base, f, name, f.repo}, depth+1)
	}
}

// file records an entry that is not a folder: an entry .git, or an irregular file in a
// repository.
func (g *Guard) file(f *folder, name string, kind fs.FileMode) {
	if isGit(name) {
		g.entry(f)
	}
	if kind.Type() == fs.ModeSymlink {
		g.seeLink(f.base, filepath.Join(f.rel(), name))
	}
	if f.repo != nil && kind.Type() != 0 && !(kind.Type() == fs.ModeSocket && name == "fsmonitor--daemon.ipc") {
		if rel, err := filepath.Rel(f.repo.rel, filepath.Join(f.rel(), name)); err == nil {
			f.repo.links[filepath.ToSlash(rel)] = true
		}
	}
}

// entry records an entry that git finds under the name .git and that is not a folder.
func (g *Guard) entry(f *folder) {
	rel := filepath.Join(f.rel(), ".git")
	if info, err := g.bases[f.base].Lstat(rel); err == nil && !info.IsDir() {
		g.see(f.base, rel, false)
	}
}

// mayBeGit reports whether git can recognise a name as the folder of a repository.
func mayBeGit(name string) bool {
	return strings.EqualFold(name, "HEAD") || strings.EqualFold(name, "commondir") ||
		strings.EqualFold(name, "objects") || strings.EqualFold(name, "refs")
}

// repository returns the record of a folder if git may take configuration or hooks from
// it. A common directory, which a file commondir leads to, needs no HEAD of its own: git
// requires the HEAD only in the folder with that file.
func (g *Guard) repository(dir *os.Root, f *folder) *record {
	has := func(name string) bool {
		_, err := dir.Lstat(name)
		return err == nil
	}
	if !(has("objects") && has("refs")) && !(has("HEAD") && has("commondir")) {
		return nil
	}
	return g.see(f.base, f.rel(), true)
}

// see returns the record of a repository, and creates it if necessary.
func (g *Guard) see(base, rel string, isFolder bool) *record {
	path := filepath.Join(base, rel)
	r := g.known[path]
	if r == nil || r.folder != isFolder {
		r = &record{base: base, rel: rel, folder: isFolder, links: map[string]bool{}, mayBeUsers: g.unseenUsers}
		g.known[path] = r
	}
	return r
}

// appeared records a new name in a folder.
func (g *Guard) appeared(f *folder, name string, isFolder bool) {
	if isFolder {
		g.descend(f, name)
	} else if info, err := g.lstat(f, name); err == nil { // only its type counts
		g.file(f, name, info.Mode())
	}
	if !mayBeGit(name) || f.repo != nil && f.repo.rel == f.rel() {
		return
	}
	dir, err := g.open(g.bases[f.base], f.rel())
	if err != nil {
		return
	}
	if g.repository(dir, f) == nil {
		_ = dir.Close()
		return
	}
	g.search(dir, f, 0) // a second time, because its irregular files count now
}

// lstat describes an entry of a folder, whose path can be longer than the kernel accepts.
func (g *Guard) lstat(f *folder, name string) (fs.FileInfo, error) {
	info, err := os.Lstat(filepath.Join(f.base, f.rel(), name))
	if !errors.Is(err, syscall.ENAMETOOLONG) {
		return info, err
	}
	dir, err := g.open(g.bases[f.base], f.rel())
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Lstat(name)
}

// blind records a folder that cannot be read.
func (g *Guard) blind(up *folder, name string, err error) {
	if g.trusting || up == nil || os.IsNotExist(err) {
		return
	}
	g.findings = append(g.findings, Finding{
		Path: filepath.Join(up.base, up.rel(), name),
		Why:  "it cannot be looked through (" + err.Error() + "): run no git there",
	})
}
