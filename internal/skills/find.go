package skills

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

// Bounds of a search: a folder may hold anything.
const (
	mostDepth   = 4    // folders below a place
	mostEntries = 5000 // that are looked at in a place
	mostSkills  = 300  // in all
	mostBeside  = 60   // files beside a skill that are named
)

// Problem is a file that cannot be used, or that another stands before.
type Problem struct{ Path, Message string }

// Error implements error.
func (p Problem) Error() string { return p.Path + ": " + p.Message }

// Found is what there is.
type Found struct {
	// Skills are those that can be called, by name.
	Skills []Skill
	// Hidden are those of a name that a nearer one has, and Broken what cannot be
	// used.
	Hidden, Broken []Problem
}

// Find looks for skills. It reads files and changes nothing.
func Find(s Sources) Found {
	var f Found
	nearest := map[string]Skill{}
	real := map[string]bool{}
	for _, p := range s.Places("skills") {
		for _, dir := range s.folders(p) {
			skill, err := s.readSkill(p, dir)
			path := filepath.Join(dir, FileName)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue
			case err != nil:
				f.Broken = append(f.Broken, Problem{path, err.Error()})
				continue
			case real[skill.Real]: // several agents' folders often lead to one
				continue
			case len(nearest) == mostSkills:
				f.Broken = append(f.Broken, Problem{path, "it was left out: there are too many skills"})
				return f.sorted(nearest)
			}
			real[skill.Real] = true
			if other, taken := nearest[skill.Name]; !taken {
				nearest[skill.Name] = skill
			} else if other.Hash != skill.Hash {
				f.Hidden = append(f.Hidden, Problem{path, "it is hidden by the skill of the same name in " + other.Dir})
			}
		}
	}
	return f.sorted(nearest)
}

func (f Found) sorted(nearest map[string]Skill) Found {
	for _, skill := range nearest {
		f.Skills = append(f.Skills, skill)
	}
	slices.SortFunc(f.Skills, byName)
	return f
}

// folders returns the folders of a place that have a SKILL.md, or about which settle
// reports that theirs cannot be used. It follows links to folders, since people keep
// their skills elsewhere; in a project, only within the project.
func (s Sources) folders(p Place) (out []string) {
	looked := 0
	var walk func(dir string, depth int)
	walk = func(dir string, depth int) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		for _, e := range entries {
			if looked++; looked > mostEntries {
				return
			}
			path := filepath.Join(dir, e.Name())
			isFolder, inside := s.look(p, path, e.Type())
			if e.Name() == ".git" || e.Name() == "node_modules" || !isFolder {
				continue
			}
			if _, err := os.Lstat(filepath.Join(path, FileName)); err == nil {
				out = append(out, path)
			} else if inside && depth < mostDepth {
				walk(path, depth+1)
			}
		}
	}
	if isFolder, inside := s.look(p, p.Dir, fs.ModeSymlink); isFolder && inside {
		walk(p.Dir, 1)
	}
	return out
}

// look reports whether a path of a place is a folder or leads to one, and whether it
// stays where the place may lead. One that does not is not walked through.
func (s Sources) look(p Place, path string, mode fs.FileMode) (isFolder, inside bool) {
	if mode&fs.ModeSymlink == 0 {
		return mode.IsDir(), true
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return false, false
	}
	_, err = s.resolve(p, path)
	return true, err == nil
}

// beside returns the names of the files in a skill's folder, with slashes. The folder's
// path has no links, and none is followed.
func beside(dir string) (out []string) {
	top, err := disk.OpenDir(dir)
	if err != nil {
		return nil // what cannot be seen is not named
	}
	looked := 0
	more := func() bool { return looked <= mostEntries && len(out) <= mostBeside }
	var walk func(d *disk.Dir, prefix string, depth int)
	walk = func(d *disk.Dir, prefix string, depth int) {
		defer d.Close()
		entries, err := d.Read(mostEntries, more)
		if err != nil {
			return
		}
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		for _, e := range entries {
			name := prefix + e.Name()
			if looked++; !more() {
				return
			}
			if !e.IsDir() {
				if name != FileName {
					out = append(out, name)
				}
				continue
			}
			if e.Name() == ".git" || e.Name() == "node_modules" || depth > mostDepth {
				continue
			}
			if sub, err := d.Sub(e.Name()); err == nil {
				walk(sub, name+"/", depth+1)
			}
		}
	}
	walk(top, "", 1)
	if len(out) > mostBeside {
		out = append(out[:mostBeside], "…")
	}
	return out
}

// Load reads the skill of the name for the model, as it is now.
func (f Found) Load(name string) (Loaded, error) {
	s, ok := Named(f.Skills, name)
	switch {
	case !ok:
		return Loaded{}, f.unknown(name)
	case !s.Model:
		return Loaded{}, fmt.Errorf("only the user can call the skill %q, by /%s", s.Name, s.Name)
	}
	return s.Load()
}

// unknown says why there is no such skill, or which there are.
func (f Found) unknown(name string) error {
	for _, p := range f.Broken {
		if filepath.Base(filepath.Dir(p.Path)) == name {
			return fmt.Errorf("the skill %q cannot be used: %w", name, p)
		}
	}
	var names []string
	for _, s := range f.Skills {
		if s.Model {
			names = append(names, s.Name)
		}
	}
	return fmt.Errorf("there is no skill %q; the skills are: %s", name, strings.Join(names, ", "))
}
