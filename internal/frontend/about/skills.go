package about

import (
	"cmp"
	"fmt"
	"io"

	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/client/listing"
	"github.com/settle-agent/settle/internal/skills"
	"github.com/settle-agent/settle/internal/terminal"
)

// SkillList is the skills and commands of a directory.
type SkillList struct {
	Skills   skills.Found
	Commands commands.Set
}

// skillLine is a skill or a command as JSON.
type skillLine struct {
	Kind          string            `json:"kind"` // skill, command
	Name          string            `json:"name"`
	Description   string            `json:"description"`
	Path          string            `json:"path"`
	Scope         string            `json:"scope"`            // project, user, plugin, server
	Server        string            `json:"server,omitempty"` // the MCP server whose prompt it is
	Hint          string            `json:"argument_hint,omitempty"`
	Model         bool              `json:"model"` // may the model call it?
	User          bool              `json:"user"`
	License       string            `json:"license,omitempty"`
	Compatibility string            `json:"compatibility,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
	AllowedTools  []string          `json:"allowed_tools,omitempty"`
	Warnings      []string          `json:"warnings,omitempty"`
}

func (l SkillList) lines() (out []skillLine) {
	for _, s := range l.Skills.Skills {
		line := skillLine{
			Kind:          "skill",
			Name:          s.Name,
			Description:   s.About,
			Path:          s.Path,
			Scope:         scope(s.Project, s.Plugin),
			Hint:          s.Hint,
			Model:         s.Model,
			User:          s.User,
			License:       s.License,
			Compatibility: s.Compatibility,
			Metadata:      s.Metadata,
			AllowedTools:  s.AllowedTools,
			Warnings:      s.Warnings,
		}
		if len(s.AllowedTools) > 0 {
			line.Warnings = append(
				line.Warnings[:len(line.Warnings):len(line.Warnings)],
				"its allowed-tools are not in force: its calls are judged as any other",
			)
		}
		out = append(out, line)
	}
	for _, c := range l.Commands.List {
		if !c.Skill {
			line := skillLine{
				Kind:        "command",
				Name:        c.Name,
				Description: c.About,
				Path:        c.Path,
				Scope:       scope(c.Project, c.Plugin),
				Hint:        c.Hint,
				User:        true,
				Warnings:    c.Warnings,
			}
			if c.Server != "" {
				line.Server, line.Scope = c.Server, "server"
			}
			out = append(out, line)
		}
	}
	return out
}

func scope(project bool, plugin string) string {
	switch {
	case project:
		return "project"
	case plugin != "":
		return "plugin"
	}
	return "user"
}

// Problems returns the errors of skills and commands that cannot be used, and of skills and
// commands that another one hides.
func (l SkillList) Problems() (broken, hidden []string) {
	for _, p := range l.Skills.Broken {
		broken = append(broken, p.Error())
	}
	for _, err := range l.Commands.Broken {
		broken = append(broken, err.Error())
	}
	for _, p := range l.Skills.Hidden {
		hidden = append(hidden, p.Error())
	}
	for _, err := range l.Commands.Hidden {
		hidden = append(hidden, err.Error())
	}
	return broken, hidden
}

// SkillsJSON writes the skills and commands, one JSON object a line.
func SkillsJSON(to io.Writer, list SkillList) error { return listing.JSON(to, list.lines()) }

// Skills writes a table of the skills and a table of the commands, and below them the
// warnings.
func Skills(to io.Writer, list SkillList) error {
	tables := map[string][][]string{
		"skill":   {{"SKILL", "SCOPE", "WHAT IT IS FOR", "WHERE"}},
		"command": {{"COMMAND", "SCOPE", "WHAT IT DOES", "WHERE"}},
	}
	var notes []string
	for _, l := range list.lines() {
		name := l.Name
		if l.Kind == "command" {
			name = "/" + name
		}
		tables[l.Kind] = append(
			tables[l.Kind],
			[]string{
				name,
				l.Scope,
				terminal.Short(l.Description, 60),
				terminal.OneLine(cmp.Or(l.Path, "MCP server "+l.Server)),
			},
		)
		for _, w := range l.Warnings {
			notes = append(notes, name+": "+w)
		}
	}
	_, hidden := list.Problems()
	for n, kind := range []string{"skill", "command"} {
		rows := tables[kind]
		if len(rows) == 1 {
			continue
		}
		if n > 0 && len(tables["skill"]) > 1 {
			if _, err := fmt.Fprintln(to); err != nil {
				return fmt.Errorf("cannot write to standard output: %w", err)
			}
		}
		if err := listing.Table(to, rows); err != nil {
			return err
		}
	}
	for n, note := range append(notes, hidden...) {
		if n == 0 {
			note = "\n" + terminal.OneLine(note)
		} else {
			note = terminal.OneLine(note)
		}
		if _, err := fmt.Fprintln(to, note); err != nil {
			return fmt.Errorf("cannot write to standard output: %w", err)
		}
	}
	return nil
}
