package main

import (
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

// trustFlags are the flags of commands that list what a project configures, and can trust it.
type trustFlags struct {
	place  placeFlags
	trust  bool
	asJSON bool
}

func (f *trustFlags) define(flags *pflag.FlagSet, trust string) {
	flags.BoolVar(&f.trust, "trust", false, trust)
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object per line")
	f.place.define(flags)
}

// settings returns the directory and the settings in force there, and prints their notes.
// With --trust, record trusts the project's part of the settings first.
func (f *trustFlags) settings(
	s *streams, flags *pflag.FlagSet, record func(*config.Resolved) error,
) (string, *config.Resolved, error) {
	dir, r, err := f.place.settings(s, flags)
	if err == nil && f.trust {
		if err = record(r); err == nil {
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
