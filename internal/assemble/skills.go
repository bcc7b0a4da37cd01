package assemble

import (
	"path/filepath"
	"slices"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/config/plugin"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/skills"
	"github.com/settle-agent/settle/tool/skill"
)

// skillSet has the skills of an agent; nil for none.
type skillSet struct {
	sources skills.Sources
	found   skills.Found
}

// Sources returns the folders of skills and commands on this machine.
func (o Options) Sources() skills.Sources {
	var s skills.Sources
	if o.Home != IgnoreHome {
		s = skills.UserSources(o.Settings.UserFile, o.Getenv)
		s.Plugins = PluginSources(o.Settings.Plugins)
	}
	if o.Project != IgnoreProject && o.Settings.Executor == "" {
		s.Project = o.Settings.Trust.Project(o.Dir)
	}
	return s
}

// PluginSources returns the folders of skills, commands and agents of the plugins that are
// used.
func PluginSources(list []plugin.Plugin) (out []skills.Plugin) {
	for n := range list {
		p := &list[n]
		if !p.Used() {
			continue
		}
		out = append(out, skills.Plugin{
			Name: p.Name, Root: p.Root, Data: p.Data, Skills: below(p.Root, p.Parts.Skills),
			Commands: below(p.Root, p.Parts.Commands), Agents: below(p.Root, p.Parts.Agents), Check: p.CheckFile,
		})
	}
	return out
}

// Plugins returns the plugins that the agent's sessions use.
func (a *Agent) Plugins() []plugin.Plugin {
	return slices.DeleteFunc(
		slices.Clone(a.from.Settings.Plugins), func(p plugin.Plugin) bool { return !p.Used() },
	)
}

func below(root string, paths []string) (out []string) {
	for _, path := range paths {
		out = append(out, filepath.Join(root, filepath.FromSlash(path)))
	}
	return out
}

// skillSet finds the skills. If tools run on another machine, there are none, because that
// machine does not have their files.
func (o Options) skillSet() *skillSet {
	s := &skillSet{sources: o.Sources()}
	if o.Settings.Executor == "" {
		s.found = skills.Find(s.sources)
	}
	return s
}

// Sources returns the folders of the agent's skills and commands.
func (a *Agent) Sources() skills.Sources { return a.from.Sources() }

// Skills returns the skills.
func (o Options) Skills() skills.Found { return o.skillSet().found }

// Skills returns the current skills. The model's list does not change while the session is
// open (C21).
func (a *Agent) Skills() skills.Found { return a.from.Skills() }

// catalog returns the section of the system prompt.
func (s *skillSet) catalog() (section, note string) {
	if s == nil {
		return "", ""
	}
	return skills.Catalog(s.found.Skills)
}

// load is the function of the tool. It searches again, so that it finds a new skill by its
// name.
func (s *skillSet) load(name, arguments string) (text string, what skill.Loaded, err error) {
	loaded, err := skills.Find(s.sources).Load(name)
	if err != nil {
		return "", skill.Loaded{}, err
	}
	return loaded.Text(arguments), skill.Loaded{Name: loaded.Name, Path: loaded.Path, SHA256: loaded.Hash}, nil
}

// folders returns the folders of the skills, without links.
func (s *skillSet) folders() (out []string) {
	if s != nil {
		for _, one := range s.found.Skills {
			out = append(out, one.Real)
		}
	}
	return out
}

// pluginRoots returns the folders of the plugins that are used, without links. Their skills
// and commands name scripts and texts there.
func (o Options) pluginRoots() (out []string) {
	for _, p := range o.Sources().Plugins {
		if real, err := disk.Resolve(p.Root); err == nil {
			out = append(out, real)
		}
	}
	return out
}

// readRules allow reads of the files of skills and plugins. They precede the user's own
// rules, which can override them.
func readRules(what string, dirs []string) (out []config.Rule) {
	for _, dir := range dirs {
		out = append(out, config.Rule{
			Tool: "read", Pattern: Below(dir), Decision: settle.Allow,
			Origin: config.Origin{Kind: config.Default, Where: "the files of a " + what},
		})
	}
	return out
}
