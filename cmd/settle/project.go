package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
)

// projectFlags choose which configuration and instructions of the project apply.
type projectFlags struct {
	noProjectConfig        bool
	systemFile, appendFile string
}

func (f *projectFlags) define(flags *pflag.FlagSet) {
	f.defineIgnore(flags)
	flags.StringVar(&f.systemFile, "system-prompt-file", "", "replace the system prompt with the text of `FILE`")
	flags.StringVar(&f.appendFile, "append-system-prompt-file", "", "append the text of `FILE` to the system prompt")
}

// defineIgnore defines the flags of commands without a system prompt.
func (f *projectFlags) defineIgnore(flags *pflag.FlagSet) {
	flags.BoolVar(&f.noProjectConfig, "no-project-config", false, "ignore the project's configuration and AGENTS.md")
}

// project returns whether the project's own configuration applies.
func (f *projectFlags) project() config.ProjectConfig {
	if f.noProjectConfig {
		return config.IgnoreProject
	}
	return config.UseProject
}

// apply sets the options of an agent from the flags.
func (f *projectFlags) apply(o *assemble.Options) {
	if f.noProjectConfig {
		o.Project = assemble.IgnoreProject
	}
	o.SystemFile, o.AppendFile = f.systemFile, f.appendFile
}

// placeFlags choose the directory whose settings apply.
type placeFlags struct {
	dir     string
	project projectFlags
}

func (f *placeFlags) define(flags *pflag.FlagSet) {
	flags.StringVarP(&f.dir, "cwd", "C", ".", "look for settings in `DIR`")
	flags.BoolVar(&f.project.noProjectConfig, "no-project-config", false, "ignore the project's configuration")
}

// settings returns the directory, absolute, and the settings in force there.
func (f *placeFlags) settings(s *streams, flags *pflag.FlagSet) (string, *config.Resolved, error) {
	dir, err := directory(f.dir)
	if err != nil {
		return "", nil, err
	}
	r, err := s.settings(dir, given(flags), f.project.project())
	return dir, r, err
}

// trustFlags are the flags of commands that list a project's configuration, and can trust it.
type trustFlags struct {
	place      placeFlags
	trust, yes bool
	asJSON     bool
}

// trusting shows a project's configuration, and records that the user trusts it.
type trusting struct {
	show   func(*config.Resolved) error
	record func(*config.Resolved) error
	// command trusts it without a question.
	question, command string
}

func (f *trustFlags) define(flags *pflag.FlagSet, trust string) {
	flags.BoolVar(&f.trust, "trust", false, trust)
	flags.BoolVarP(&f.yes, "yes", "y", false, "with --trust: trust it without asking")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object per line")
	f.place.define(flags)
}

// settings returns the directory and the settings in force there, and prints their notes.
// With --trust, it shows the project's part of the settings first, and asks whether the user
// trusts it.
func (f *trustFlags) settings(
	ctx context.Context, s *streams, flags *pflag.FlagSet, t trusting,
) (string, *config.Resolved, error) {
	dir, r, err := f.place.settings(s, flags)
	if err == nil && f.trust {
		if err = f.decide(ctx, s, r, t); err == nil {
			dir, r, err = f.place.settings(s, flags)
		}
	}
	if err != nil {
		return "", nil, err
	}
	for _, note := range r.Notes {
		s.say(fmt.Errorf("note: %s", note))
	}
	return dir, r, nil
}

// decide shows a project's configuration, asks, and records the trust in the shown content.
func (f *trustFlags) decide(ctx context.Context, s *streams, r *config.Resolved, t trusting) error {
	if err := t.show(r); err != nil {
		return err
	}
	if yes, err := s.trusts(ctx, f.yes, t.question, t.command); err != nil || !yes {
		if err == nil {
			fmt.Fprintln(s.stderr, "Nothing was trusted.")
		}
		return failed(err)
	}
	return t.record(r)
}

// trusts asks whether the user trusts the shown content, unless a flag says so. command is the
// command that needs no answer.
func (s *streams) trusts(ctx context.Context, yes bool, question, command string) (bool, error) {
	if yes {
		return true, nil
	}
	if !s.person() {
		return false, fmt.Errorf("no person can be asked here; nothing was trusted; to trust it without a question: %s",
			command)
	}
	fmt.Fprint(s.stderr, question+" [y/N] ")
	return isYes(ctx, s.stdin), context.Cause(ctx)
}
