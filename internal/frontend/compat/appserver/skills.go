package appserver

import (
	"context"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/internal/skills"
)

// skillsList returns, for each directory, its skills and the errors of skills that cannot be used.
func (s *Server) skillsList(_ context.Context, p skillsParams) (any, error) {
	if len(p.Cwds) == 0 {
		p.Cwds = []string{s.Dir}
	}
	data := []object{}
	for _, dir := range p.Cwds {
		resolved, err := s.configured(dir)
		if err != nil {
			data = append(
				data,
				object{"cwd": dir, "skills": []object{}, "errors": []object{{"path": dir, "message": err.Error()}}},
			)
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

// withSkills replaces an input that names a skill by the skill's text. An unknown skill
// stays a mention of a file.
func (l *loadedThread) withSkills(parts []userInput) ([]userInput, error) {
	var found skills.Found
	out := make([]userInput, 0, len(parts))
	for _, p := range parts {
		if p.Type == "skill" {
			if found.Skills == nil {
				found = l.opened.Agent.Skills()
			}
			if s, ok := skills.Named(found.Skills, p.Name); ok && s.User &&
				(p.Path == "" || p.Path == s.Path || p.Path == s.Dir) {
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

// read returns the user's input, with commands and skills expanded.
func (l *loadedThread) read(parts []userInput) (text string, images []event.Image, err error) {
	if parts, err = l.withSkills(parts); err != nil {
		return "", nil, err
	}
	if text, images, err = read(parts, l.opened.Spec.Dir); err != nil {
		return "", nil, err
	}
	return text, images, nil
}

// expanded calls then with the expansion of a text, and returns its result. If a server
// must be asked, the lane does not wait for it: then is called there later.
func (l *loadedThread) expanded(
	ctx context.Context, r *jsonrpc.Request, text string, then func(text string, images []event.Image) error,
) error {
	source := commands.Expansion{Source: l.opened.Commands()}
	if !commands.Async(text) {
		text, images, err := source.Expand(ctx, text)
		if err != nil {
			return invalid("%v", err)
		}
		return then(text, images)
	}
	if l.fetching != nil {
		return invalid("another input is still being expanded")
	}
	ctx, l.fetching = context.WithCancelCause(ctx)
	l.s.Go(func() { // ends with the server's answer, with an interrupt, or with the session
		text, images, err := source.Expand(ctx, text)
		begun := l.s.Lane(l.id(), func() {
			cause := context.Cause(ctx)
			l.fetching(nil)
			l.fetching = nil
			switch {
			case cause != nil:
				err = invalid("not sent: %v", cause)
			case err != nil:
				err = invalid("%v", err)
			default:
				err = then(text, images)
			}
			if err != nil {
				r.Fail(l.s.Refusal(ctx, err))
			}
		})
		if !begun {
			r.Fail(settle.ErrClosed)
		}
	})
	return nil
}
