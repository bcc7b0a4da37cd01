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

// Bounds of a search; a folder can contain anything.
const (
	maxDepth   = 4    // depth of folders below a place
	maxEntries = 5000 // entries of one place
	maxSkills  = 300  // skills in total
	maxBeside  = 60   // listed files of one skill
)

// Problem is a file that cannot be used, or that a nearer file hides.
type Problem struct{ Path, Message string }

// Error implements error.
func (p Problem) Error() string { return p.Path + ": " + p.Message }

// Found is the result of a search.
type Found struct {
	// Skills are the usable skills, by name.
	Skills []Skill
	// Hidden are the skills whose name a nearer skill has; Broken are unusable files.
	Hidden, Broken []Problem
}

// Find searches for skills. It only reads files.
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
			case real[skill.Real]: // the folders of several agents often lead to one
				continue
			case len(nearest) == maxSkills:
				f.Broken = append(f.Broken, Problem{path, "it was left out: there are too many skills"})
				return f.sorted(nearest)
			}
			real[skill.Real] = true
			if nearer, taken := nearest[skill.Name]; !taken {
				nearest[skill.Name] = skill
			} else if nearer.Hash != skill.Hash {
				f.Hidden = append(f.Hidden,
					Problem{path, "it is hidden by the skill of the same name in " + nearer.Dir})
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

// folders returns the folders of a place that have a SKILL.md, and the folders whose
// SKILL.md settle reports as unusable. It follows links to folders, because people keep
// their skills elsewhere; in a project, only within the project.
func (s Sources) folders(p Place) (out []string) {
	if p.Plugin != nil { // it can name a skill itself
		if _, err := os.Lstat(filepath.Join(p.Dir, FileName)); err == nil {
			return []string{p.Dir}
		}
	}
	s.walk(p, func(path string, isFolder bool) (enter bool) {
		if name := filepath.Base(path); name == ".git" || name == "node_modules" || !isFolder {
			return false
		}
		if _, err := os.Lstat(filepath.Join(path, FileName)); err == nil {
			out = append(out, path)
			return false
		}
		return true
	})
	return out
}

// walk calls visit for the entries of a place, in order and within limits. It enters the folders
// that visit chooses, as far as they stay within the place's limits.
func (s Sources) walk(p Place, visit func(path string, isFolder bool) (enter bool)) {
	looked := 0
	var walk func(dir string, depth int)
	walk = func(dir string, depth int) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		for _, e := range entries {
			if looked++; looked > maxEntries {
				return
			}
			path := filepath.Join(dir, e.Name())
			isFolder, inside := s.look(p, path, e.Type())
			if visit(path, isFolder) && inside && depth < maxDepth {
				walk(path, depth+1)
			}
		}
	}
	if isFolder, inside := s.look(p, p.Dir, fs.ModeSymlink); isFolder && inside {
		walk(p.Dir, 1)
	}
}

// look reports whether a path of a place is a folder or a link to one, and whether it stays
// within the place's limits. The search does not enter other folders.
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
// path has no links, and beside follows none.
func beside(dir string) (out []string) {
	top, err := disk.OpenDir(dir)
	if err != nil {
		return nil // an unreadable folder is not listed
	}
	looked := 0
	more := func() bool { return looked <= maxEntries && len(out) <= maxBeside }
	var walk func(d *disk.Dir, prefix string, depth int)
	walk = func(d *disk.Dir, prefix string, depth int) {
		defer d.Close()
		entries, err := d.Read(maxEntries, more)
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
			if e.Name() == ".git" || e.Name() == "node_modules" || depth > maxDepth {
				continue
			}
			if sub, err := d.Sub(e.Name()); err == nil {
				walk(sub, name+"/", depth+1)
			}
		}
	}
	walk(top, "", 1)
	if len(out) > maxBeside {
		out = append(out[:maxBeside], "…")
	}
	return out
}

// Load reads the skill's current content for the model.
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

// unknown returns the error for a name without a usable skill.
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
