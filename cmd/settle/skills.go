package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/frontend/about"
)

const skillsHelp = `List the skills and commands that a session in this directory has, and check them.

A skill is a folder with a SKILL.md; a command is a Markdown file. settle finds its own
skills and the skills of other agents: in .settle, .agents, .claude and .codex of the
project, and in your home directory. If two have the same name, the nearest one is used.

Below the list, settle prints the faults of skills that it can use, and the skills that
another one of the same name hides. Standard error gets the skills that it cannot use.

Exit codes: 0 all can be used, 1 some cannot, 2 wrong usage or configuration.`

// skillsFlags are the flags of skills.
type skillsFlags struct {
	place  placeFlags
	asJSON bool
}

func newSkills(s *streams) *cobra.Command {
	var f skillsFlags
	cmd := &cobra.Command{
		Use: "skills [flags]", Short: "List and check skills and commands", Long: skillsHelp, Args: cobra.NoArgs,
		Example: "  settle skills\n  settle skills --json",
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd, s) },
	}
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object per line")
	f.place.define(cmd.Flags())
	return cmd
}

func (f *skillsFlags) run(cmd *cobra.Command, s *streams) error {
	dir, r, err := f.place.settings(s, cmd.Flags())
	if err != nil {
		return err
	}
	o := assemble.Options{Settings: r, Dir: dir, Getenv: s.getenv}
	f.place.project.apply(&o)
	list := about.SkillList{Skills: o.Skills(), Commands: commands.Find(o.Sources(), o.Skills())}
	if f.asJSON {
		err = failed(about.SkillsJSON(s.lines(), list))
	} else {
		err = s.list(
			"there are no skills or commands here", func(to io.Writer) error { return about.Skills(to, list) },
		)
	}
	if err != nil {
		return err
	}
	broken, _ := list.Problems()
	for _, problem := range broken {
		s.say(errors.New(problem))
	}
	if len(broken) > 0 {
		return &exitError{code: stdio.CodeFailed}
	}
	return nil
}
