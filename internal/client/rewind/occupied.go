package rewind

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/disk/changes"
)

// keepOccupied keeps created directories, also if they replaced a file, in which something
// remains.
func (p *Plan) keepOccupied(root *disk.Dir) {
	real := resolved(p.Dir)
	removed := map[string]bool{}
	var directories []*File
	for n := range p.Files {
		f := &p.Files[n]
		if f.Do == Remove {
			removed[f.place(real)] = true
		}
		if (f.Do == Remove || f.Do == Restore) && isDirectory(f.Left) && !isDirectory(f.Was) {
			directories = append(directories, f)
		}
	}
	slices.SortFunc(directories, func(a, b *File) int { return strings.Compare(b.Path, a.Path) }) // from below
	for _, f := range directories {
		if remains := entryExcept(root, f, removed); remains != "" {
			f.Do, f.Why = Keep, remains+" is in it"
			delete(removed, f.place(real))
		}
	}
}

// place returns the canonical path of a file, relative to the canonical directory real if it lies in
// it.
func (f *File) place(real string) string {
	name := filepath.FromSlash(cmp.Or(f.Real, f.Path))
	if rel, err := filepath.Rel(real, name); err == nil && filepath.IsLocal(rel) {
		name = rel
	}
	return filepath.ToSlash(name)
}

// entryExcept returns the name of an entry of a directory whose place is not in removed; empty if
// there is none, or if the directory cannot be read.
func entryExcept(root *disk.Dir, f *File, removed map[string]bool) string {
	open := root.Below
	if !f.isInTree {
		open = disk.OpenDir
	}
	d, err := open(filepath.FromSlash(f.Path))
	if err != nil {
		return ""
	}
	defer d.Close()
	entries, _ := d.Read(0, func() bool { return true }) // the removal reports the error
	for _, e := range entries {
		if !removed[path.Join(f.Path, e.Name())] {
			return e.Name()
		}
	}
	return ""
}

// keepBlocked leaves files deleted whose directory is something else now, and stays so.
func (p *Plan) keepBlocked(root *disk.Dir) {
	made := map[string]bool{}
	for _, f := range p.Files {
		if f.Do != Keep && isDirectory(f.Was) {
			made[f.Path] = true
		}
	}
	for n := range p.Files {
		f := &p.Files[n]
		if !f.isInTree || f.Do != Recreate {
			continue
		}
		for above := path.Dir(f.Path); above != "."; above = path.Dir(above) {
			info, err := changes.Info(root, above)
			if err == nil && !info.IsDir() && !made[above] {
				f.Do, f.Why = Keep, above+" is "+disk.Kind(info.Mode())+" now"
			}
		}
	}
}
