package prompt

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// mostNested is how deep below the working directory a folder's instructions
	// are looked for.
	mostNested = 16
	// mostPlaces is how many places are looked at, of one step.
	mostPlaces = 100
)

// Instruction is what a project says of one of its folders.
type Instruction struct{ Path, Text string }

// Nested returns the instructions in the folders below the working directory, the
// last of the project's, on the way to each of the places, with what they import. Places
// are files or folders, absolute.
// Other repositories in it, and the folders of dependencies, have no say.
func Nested(from Sources, places []string) (out []Instruction) {
	project := from.Project
	if len(project.Dirs) == 0 {
		return nil
	}
	dir := project.Dirs[len(project.Dirs)-1]
	may := map[string]bool{} // of the folders that were looked at
	var p Prompt
	for _, place := range places[:min(len(places), mostPlaces)] {
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
			for _, one := range p.directory(from, folder) {
				out = append(out, Instruction{one.path, one.whole()})
			}
		}
	}
	return out
}

// below returns the folders from below dir down to the place, which is one or is in
// one.
func below(dir, place string) (out []string) {
	rel, err := filepath.Rel(dir, filepath.Clean(place))
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return nil
	}
	at := dir
	for n, part := range strings.Split(rel, string(filepath.Separator)) {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		if n == mostNested || err != nil || !info.IsDir() { // what a link leads to is elsewhere
			return out
		}
		out = append(out, at)
	}
	return out
}

// foreign reports whether what is in a folder was written by others: dependencies,
// and other repositories.
func foreign(folder string) bool {
	if slices.Contains([]string{".git", "node_modules", "vendor", "site-packages", ".venv"}, filepath.Base(folder)) {
		return true
	}
	_, err := os.Lstat(filepath.Join(folder, ".git"))
	return err == nil
}
