package skills

import (
	"path/filepath"
	"slices"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/repo"
)

// Sources are the folders that a search reads.
type Sources struct {
	// Config is settle's own configuration folder, Home the user's home directory, Claude
	// and Codex the configuration folders of these agents; empty for none.
	Config, Home, Claude, Codex string
	// Project limits the project's folders; the zero value excludes all of them.
	Project repo.Project
}

// UserSources returns the user's folders by the environment; config is settle's own
// configuration file, "" for none.
func UserSources(config string, getenv func(string) string) Sources {
	s := Sources{Home: absolute(getenv("HOME"))}
	if s.Home == "" {
		s.Home = absolute(getenv("USERPROFILE"))
	}
	if config != "" {
		s.Config = filepath.Dir(config)
	}
	s.Claude, s.Codex = absolute(getenv("CLAUDE_CONFIG_DIR")), absolute(getenv("CODEX_HOME"))
	if s.Home != "" {
		if s.Claude == "" {
			s.Claude = filepath.Join(s.Home, ".claude")
		}
		if s.Codex == "" {
			s.Codex = filepath.Join(s.Home, ".codex")
		}
	}
	return s
}

func absolute(path string) string {
	if !filepath.IsAbs(path) {
		return ""
	}
	return path
}

// Place is a folder of a search.
type Place struct {
	Dir string
	// Project reports that the folder belongs to the project and not to the user.
	Project bool
}

// Places returns the folders of the name, such as "skills", nearest first. A folder need
// not exist.
func (s Sources) Places(name string) []Place {
	var out []Place
	add := func(project bool, parts ...string) {
		if parts[0] == "" {
			return
		}
		dir := filepath.Join(append(parts, name)...)
		if !slices.ContainsFunc(out, func(p Place) bool { return p.Dir == dir }) {
			out = append(out, Place{dir, project})
		}
	}
	for _, dir := range slices.Backward(s.Project.Dirs) {
		if dir == s.Home { // the home directory belongs to the user, not to a project
			continue
		}
		for _, of := range []string{".settle", ".agents", ".claude", ".codex"} {
			add(true, dir, of)
		}
	}
	add(false, s.Config)
	if s.Home != "" {
		add(false, s.Home, ".agents")
	}
	add(false, s.Claude)
	add(false, s.Codex)
	return out
}

// Read reads at most limit bytes of a file of a place. In a project, a link out of the
// project and a file of another user are errors.
func (s Sources) Read(p Place, path string, limit int64) (data []byte, size int64, err error) {
	if p.Project {
		return s.Project.ReadFile(path, limit)
	}
	return disk.Read(path, limit)
}
