package assemble

import (
	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/skills"
	"github.com/settle-agent/settle/tool/skill"
)

// skillSet is the skills that an agent was put together with. Nil is none.
type skillSet struct {
	sources skills.Sources
	found   skills.Found
}

// Sources say where skills and commands are looked for. Those of another machine
// are not.
func (o Options) Sources() skills.Sources {
	var s skills.Sources
	if o.Home != IgnoreHome {
		s = skills.UserSources(o.Settings.UserFile, o.Getenv)
	}
	if o.Project != IgnoreProject && o.Settings.Executor == "" {
		s.Project = o.Settings.Trust.Project(o.Dir)
	}
	return s
}

// skillSet looks for skills. Where tools work on another machine, there are none: it does
// not have their files.
func (o Options) skillSet() *skillSet {
	s := &skillSet{sources: o.Sources()}
	if o.Settings.Executor == "" {
		s.found = skills.Find(s.sources)
	}
	return s
}

// Sources say where the agent's skills and commands are.
func (a *Agent) Sources() skills.Sources { return a.from.Sources() }

// Skills are those that there are.
func (o Options) Skills() skills.Found { return o.skillSet().found }

// Skills are those that there are now. What the model was told of them does not
// change while the session is open (C21).
func (a *Agent) Skills() skills.Found { return a.from.Skills() }

// catalog is the section of the system prompt.
func (s *skillSet) catalog() (section, note string) {
	if s == nil {
		return "", ""
	}
	return skills.Catalog(s.found.Skills)
}

// load is what the tool does. It looks anew, so that a skill that was written
// meanwhile is found by its name.
func (s *skillSet) load(name, arguments string) (text string, what skill.Loaded, err error) {
	loaded, err := skills.Find(s.sources).Load(name)
	if err != nil {
		return "", skill.Loaded{}, err
	}
	return loaded.Text(arguments), skill.Loaded{Name: loaded.Name, Path: loaded.Path, SHA256: loaded.Hash}, nil
}

// folders are those of the skills, without links.
func (s *skillSet) folders() (out []string) {
	if s != nil {
		for _, one := range s.found.Skills {
			out = append(out, one.Real)
		}
	}
	return out
}

// rules let the files beside the skills be read. They come before the user's own,
// which may say otherwise.
func (s *skillSet) rules() (out []config.Rule) {
	for _, dir := range s.folders() {
		out = append(out, config.Rule{
			Tool: "read", Pattern: Below(dir), Decision: settle.Allow,
			Origin: config.Origin{Kind: config.Default, Where: "the files of a skill"},
		})
	}
	return out
}
