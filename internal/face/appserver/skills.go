package appserver

import (
	"context"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/skills"
)

// skillsList answers for each directory with its skills, and with those that cannot
// be used.
func (s *Server) skillsList(_ context.Context, p skillsParams) (any, error) {
	if len(p.Cwds) == 0 {
		p.Cwds = []string{s.Dir}
	}
	data := []object{}
	for _, dir := range p.Cwds {
		resolved, err := s.configured(dir)
		if err != nil {
			data = append(data, object{"cwd": dir, "skills": []object{}, "errors": []object{{"path": dir, "message": err.Error()}}})
			continue
		}
		o := s.Sessions.Base
		o.Settings, o.Dir = resolved, dir
		found, listed, broken := o.Skills(), []object{}, []object{}
		for _, one := range found.Skills {
			scope := "user"
			if one.Project {
				scope = "repo"
			}
			listed = append(listed, object{
				"name": one.Name, "description": one.About, "path": one.Path, "scope": scope, "enabled": true,
			})
		}
		for _, problem := range found.Broken {
			broken = append(broken, object{"path": problem.Path, "message": problem.Message})
		}
		data = append(data, object{"cwd": dir, "skills": listed, "errors": broken})
	}
	return object{"data": data}, nil
}

// withSkills puts the text of a skill in the place of the input that names it. One
// that there is not stays a mention of a file.
func (l *loadedThread) withSkills(parts []userInput) ([]userInput, error) {
	var found skills.Found
	out := make([]userInput, 0, len(parts))
	for _, p := range parts {
		if p.Type == "skill" {
			if found.Skills == nil {
				found = l.opened.Agent.Skills()
			}
			if s, ok := skills.Named(found.Skills, p.Name); ok && s.User && (p.Path == "" || p.Path == s.Path || p.Path == s.Dir) {
				loaded, err := s.Load()
				if err != nil {
					return nil, invalid("%v", err)
				}
				p = userInput{Type: "text", Text: loaded.Text("")}
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// read returns what the user says, with what commands and skills in it stand for.
func (l *loadedThread) read(parts []userInput) (text string, images []event.Image, err error) {
	if parts, err = l.withSkills(parts); err != nil {
		return "", nil, err
	}
	if text, images, err = read(parts, l.opened.Spec.Dir); err != nil {
		return "", nil, err
	}
	if text, err = commands.Expand(l.opened.Agent, text); err != nil {
		return "", nil, invalid("%v", err)
	}
	return text, images, nil
}
