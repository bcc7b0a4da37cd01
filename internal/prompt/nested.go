package prompt

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// maxNested bounds the depth of folders with instructions below the working directory.
	maxNested = 16
	// maxPlaces bounds the places of one step.
	maxPlaces = 100
)

// Instruction is an instruction file of one folder of a project.
type Instruction struct{ Path, Text string }

// Nested returns the instructions in the folders below the working directory (the last directory of
// the project) on the way to each place, their imports, and the rules of the project whose paths
// match a place. Places are absolute files or folders. It ignores other repositories inside the
// project and folders of dependencies. An instruction whose path is the folder names the parts of a
// folder that are cut or left out.
func Nested(from Sources, places []string) (out []Instruction) {
	project := from.Project
	if len(project.Dirs) == 0 {
		return nil
	}
	dir := project.Dirs[len(project.Dirs)-1]
	may := map[string]bool{} // folders already checked
	var p Prompt
	add := func(list []instruction) {
		for _, one := range list {
			out = append(out, Instruction{one.path, one.content()})
		}
	}
	for _, at := range project.Dirs {
		add(p.rules(from, at, places, false))
	}
	for _, place := range places[:min(len(places), maxPlaces)] {
		for _, folder := range below(dir, place) {
			speaks, seen := may[folder]
			if !seen {
				speaks = !foreign(folder) && project.Harmless(folder)
				may[folder] = speaks
			}
			if !speaks {
				break
			}
			if seen {
				continue
			}
			p.Notes = nil
			add(p.directory(from, folder))
			add(p.rules(from, folder, places, true))
			if len(p.Notes) > 0 {
				out = append(out, Instruction{folder, "[Not all of its files are used: " + strings.Join(p.Notes, "; ") + ".]"})
			}
		}
	}
	return out
}

// below returns the folders from dir (exclusive) down to the place, or to the folder of the
// place.
func below(dir, place string) (out []string) {
	rel, err := filepath.Rel(dir, filepath.Clean(place))
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return nil
	}
	at := dir
	for n, part := range strings.Split(rel, string(filepath.Separator)) {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		if n == maxNested || err != nil || !info.IsDir() { // a link leads elsewhere
			return out
		}
		out = append(out, at)
	}
	return out
}

// foreign reports whether other authors wrote the content of a folder: dependencies, and
// other repositories.
func foreign(folder string) bool {
	if slices.Contains([]string{".git", "node_modules", "vendor", "site-packages", ".venv"}, filepath.Base(folder)) {
		return true
	}
	_, err := os.Lstat(filepath.Join(folder, ".git"))
	return err == nil
}
