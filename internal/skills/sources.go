package skills

import (
	"path/filepath"
	"slices"
	"strings"

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
	// Plugins are the plugins that the user trusts.
	Plugins []Plugin
}

// Plugin is a plugin with skills, commands and kinds of child agents. Their names begin with
// the plugin's name and a colon.
type Plugin struct {
	Name string
	// Root is its folder, and Data its own writable folder; absolute.
	Root, Data string
	// Skills, Commands and Agents are absolute folders and files.
	Skills, Commands, Agents []string
	// Check returns an error if the user does not trust the content of a file.
	Check func(path string, data []byte) error
}

// Filled returns a text of the plugin with the paths of its folders in place of their
// variables. The text of nil stays unchanged.
func (p *Plugin) Filled(text string) string {
	if p == nil {
		return text
	}
	return strings.NewReplacer(
		"${CLAUDE_PLUGIN_ROOT}", filepath.ToSlash(p.Root), "${CLAUDE_PLUGIN_DATA}", filepath.ToSlash(p.Data),
	).Replace(text)
}

// Qualified returns a name with the plugin's name before it; nil adds none.
func (p *Plugin) Qualified(name string) string {
	if p == nil {
		return name
	}
	return p.Name + ":" + name
}

// name is the plugin's name; "" for nil.
func (p *Plugin) name() string {
	if p == nil {
		return ""
	}
	return p.Name
}

// pluginPlaces returns the places of a kind of part in all plugins.
func (s Sources) pluginPlaces(part func(*Plugin) []string) (out []Place) {
	for n := range s.Plugins {
		p := &s.Plugins[n]
		for _, dir := range part(p) {
			out = append(out, Place{Dir: dir, Plugin: p})
		}
	}
	return out
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
	// Plugin is the plugin that has the folder, or the single file; nil for none.
	Plugin *Plugin
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
			out = append(out, Place{Dir: dir, Project: project})
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
	switch name {
	case "skills":
		out = append(out, s.pluginPlaces(func(p *Plugin) []string { return p.Skills })...)
	case "commands":
		out = append(out, s.pluginPlaces(func(p *Plugin) []string { return p.Commands })...)
	}
	return out
}

// Read reads at most limit bytes of a file of a place. In a project, a link out of the
// project and a file of another user are errors; in a plugin, content that the user does not
// trust.
func (s Sources) Read(p Place, path string, limit int64) (data []byte, size int64, err error) {
	if p.Project {
		return s.Project.ReadFile(path, limit)
	}
	data, size, err = disk.Read(path, limit)
	if err == nil && size <= limit && p.Plugin != nil {
		err = p.Plugin.Check(path, data)
	}
	return data, size, err
}
