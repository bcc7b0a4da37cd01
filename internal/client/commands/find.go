package commands

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/skills"
)

const (
	// maxText bounds a file in bytes, and maxFiles how many of a folder are read.
	maxText   = 256 << 10
	maxFiles  = 500
	extension = ".md"
)

// Set is the commands that a person can call.
type Set struct {
	// List is by name.
	List []Command
	// Broken lists unusable files, and Hidden lists files whose name another file has
	// taken.
	Broken, Hidden []error
}

// Source has the sources and the skills of an agent.
type Source interface {
	Sources() skills.Sources
	Skills() skills.Found
}

// Of is [Find] for an agent, with the built-in commands and the prompts of its servers.
func Of(s Source) Set {
	set := Find(s.Sources(), s.Skills()).WithBuiltIn()
	if p, ok := s.(Prompter); ok {
		return set.With(p)
	}
	return set
}

// Find reads the commands of the sources, and takes the skills that a person may
// call, which stand before commands.
func Find(s skills.Sources, found skills.Found) Set {
	var set Set
	for _, skill := range found.Skills {
		if skill.User {
			set.List = append(set.List, ofSkill(skill))
		}
	}
	for _, p := range places(s) {
		list, problems := p.read(s)
		set.Broken = append(set.Broken, problems...)
		for _, c := range list {
			at := slices.IndexFunc(set.List, func(found Command) bool { return found.Name == c.Name })
			switch {
			case at < 0:
				set.List = append(set.List, c)
			case set.List[at].text != c.text:
				set.Hidden = append(set.Hidden, fmt.Errorf("%s: it is hidden by %s", c.Path, set.List[at].Path))
			}
		}
	}
	slices.SortFunc(set.List, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
	return set
}

// place is a folder of commands; flat excludes its subfolders.
type place struct {
	skills.Place
	flat bool
}

func places(s skills.Sources) (out []place) {
	for _, p := range s.Places("commands") {
		of := filepath.Dir(p.Dir)
		if p.Plugin != nil || of == s.Config || of == s.Claude || p.Project && (filepath.Base(of) == ".settle" ||
			filepath.Base(of) == ".claude") {
			out = append(out, place{Place: p})
		}
	}
	if s.Codex != "" {
		out = append(out, place{skills.Place{Dir: filepath.Join(s.Codex, "prompts")}, true})
	}
	return out
}

// read returns the commands of a folder, sorted by name. A command in a subfolder has the
// folder's name as a prefix, with a colon.
func (p place) read(s skills.Sources) (list []Command, problems []error) {
	seen := 0
	_ = filepath.WalkDir(p.Dir, func(path string, d fs.DirEntry, err error) error { // each problem is kept
		switch {
		case err != nil:
			if path != p.Dir || !errors.Is(err, fs.ErrNotExist) {
				problems = append(problems, err)
			}
			return nil
		case seen >= maxFiles:
			return fs.SkipAll
		case d.IsDir() && p.flat && path != p.Dir:
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != extension:
			return nil
		}
		seen++
		c, err := p.command(s, path)
		if err != nil {
			problems = append(problems, fmt.Errorf("cannot use %q as a command: %w", path, err))
			return nil
		}
		list = append(list, c)
		return nil
	})
	return list, problems
}

func (p place) command(s skills.Sources, path string) (Command, error) {
	rel, err := filepath.Rel(p.Dir, path)
	if err != nil {
		return Command{}, err
	}
	if rel == "." { // a plugin can name a file
		rel = filepath.Base(path)
	}
	name := strings.ReplaceAll(strings.TrimSuffix(filepath.ToSlash(rel), extension), "/", ":")
	if !IsName(name) || name == "" {
		return Command{}, errors.New("its name may have small letters, digits, - and _")
	}
	data, size, err := s.Read(p.Place, path, maxText)
	if err != nil {
		return Command{}, err
	}
	if size > maxText {
		return Command{}, fmt.Errorf("it has more than %d bytes", maxText)
	}
	c, err := parse(string(data))
	if err != nil {
		return Command{}, err
	}
	if c.Name, c.Path, c.Project = p.Plugin.Qualified(name), path, p.Project; c.text == "" {
		return Command{}, errors.New("it says nothing")
	}
	if p.Plugin != nil {
		c.Plugin, c.text = p.Plugin.Name, p.Plugin.Filled(c.text)
	}
	return c, nil
}

// Named returns the command of the name.
func (s Set) Named(name string) (Command, bool) {
	claude := -1 // of the prompt whose name in Claude Code it is
	for n := range s.List {
		switch c := &s.List[n]; {
		case c.Name == name:
			return *c, true
		case c.Server != "" && c.prompt.ClaudeName() == name:
			claude = n
		}
	}
	if claude < 0 {
		return Command{}, false
	}
	return s.List[claude], true
}

// Expand returns the prompt of a text that calls a command. It returns any other text unchanged.
func (s Set) Expand(text string) (string, error) {
	c, arguments, ok := s.called(text)
	if !ok {
		return text, nil
	}
	return c.Expand(arguments)
}

// Calls reports whether a text calls a command: it begins with a slash and the command's name, and a
// built-in command takes the words that follow.
func (s Set) Calls(text string) bool {
	_, _, ok := s.called(text)
	return ok
}

// called returns the command that the text calls, and its arguments.
func (s Set) called(text string) (c Command, arguments string, ok bool) {
	name, arguments := parted(text)
	c, ok = s.Named(name)
	return c, arguments, ok && c.calls(arguments)
}

// parted are the name and the arguments of a text that calls a command; no name if it
// calls none.
func parted(text string) (name, arguments string) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return "", ""
	}
	if n := strings.IndexAny(rest, " \t\r\n"); n >= 0 {
		return rest[:n], rest[n:]
	}
	return rest, ""
}
