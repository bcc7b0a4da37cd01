package rewind

import (
	"path"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/disk/changes"
)

// keepOccupied keeps created directories, also if they replaced a file, in which something
// remains.
func (p *Plan) keepOccupied(root *disk.Dir) {
	removed := map[string]bool{}
	var directories []*File
	for n := range p.Files {
		f := &p.Files[n]
		if f.Do == Remove {
			removed[f.Path], removed[f.Real] = true, true
		}
		if f.isInTree && (f.Do == Remove || f.Do == Restore) && f.isDirectory(f.Left) && !f.isDirectory(f.Was) {
			directories = append(directories, f)
		}
	}
	slices.SortFunc(directories, func(a, b *File) int { return strings.Compare(b.Path, a.Path) }) // from below
	for _, f := range directories {
		if remains := entryExcept(root, f.Path, removed); remains != "" {
			f.Do, f.Why = Keep, remains+" is in it"
			delete(removed, f.Path)
		}
	}
}

// entryExcept returns the name of an entry of a directory whose path is not in removed; empty if
// there is none, or if the directory cannot be read.
func entryExcept(root *disk.Dir, dir string, removed map[string]bool) string {
	d, err := root.Below(dir)
	if err != nil {
		return ""
	}
	defer d.Close()
	entries, _ := d.Read(0, func() bool { return true }) // the removal reports the error
	for _, e := range entries {
		if !removed[path.Join(dir, e.Name())] {
			return e.Name()
		}
	}
	return ""
}

// keepBlocked leaves files deleted whose directory is something else now, and stays so.
func (p *Plan) keepBlocked(root *disk.Dir) {
	made := map[string]bool{}
	for _, f := range p.Files {
		if f.Do != Keep && f.isDirectory(f.Was) {
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
