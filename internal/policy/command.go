package policy

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/policy/effects"
)

// shell judges a call of shell.
func (p *Policy) shell(c *toolCall) {
	at, s := c.workspace.dir, effects.Parse(c.Command)
	c.simple = committing(c.Command).Commands
	if c.Workdir != "" {
		c.path(effects.Looks, c.Workdir)
		at = filepath.Clean(absolute(at, c.Workdir))
		if real, err := c.workspace.resolve(at); err != nil || filepath.IsLocal(c.Workdir) &&
			real != filepath.Join(c.workspace.real, c.Workdir) {
			// "cd .." depends on the shell
			c.hide(c.Command, "its directory is named by a link, which shells read differently")
		}
	}
	switch {
	case p.config.Opaque:
		c.hide(c.Command, "what it runs cannot be judged on this system")
		return
	case c.Release:
		c.hide(c.Command, "it runs on after the session")
	case c.TTY:
		c.hide(c.Command, "with a terminal, programs start others, such as pagers")
	}
	if s.Why != "" {
		c.hide(c.Command, s.Why)
	} else if len(s.Commands) == 0 { // only comments
		c.add(effect{kind: runs, text: c.Command, words: []effects.Word{{Text: ":"}}, known: true})
	}
	danger := p.hazard(c.workspace)
	for _, command := range s.Commands {
		e := p.command(c.workspace, filepath.Clean(absolute(at, command.Dir)), command)
		e.why = cmp.Or(e.why, danger)
		c.add(e)
	}
	c.harmless = !slices.ContainsFunc(c.effects, func(e effect) bool { return !e.known && e.kind != effects.Looks })
}

// command returns the effect of a simple command in a directory.
func (p *Policy) command(w workspace, dir string, c effects.Command) effect {
	e := effect{kind: runs, text: c.Text, why: c.Why, words: c.Words, known: c.Why == "", alias: c.Name == "" &&
		baseName(c.Words[0].Text) == "git"}
	for _, part := range c.Effects {
		e.parts = append(e.parts, p.part(w, dir, part)...)
		e.known = e.known && part.Kind != effects.Writes
	}
	if c.Why == "" {
		return e
	}
	for _, word := range c.Words[1:] { // each word can be a path
		text := word.Text
		if _, value, ok := strings.Cut(text, "="); ok {
			text = value
		}
		if place, err := w.locate(absolute(dir, text)); err == nil && strings.ContainsAny(text, "/.") &&
			!strings.Contains(text, "\n") {
			e.parts = append(e.parts, effect{kind: names, text: "names " + place.String(), place: place})
		}
	}
	return e
}

// unknownEffect returns one unknown effect with the reason; none if why is empty.
func unknownEffect(text, why string) []effect {
	if why == "" {
		return nil
	}
	return []effect{{kind: hidden, text: text, why: why}}
}

// part resolves an effect of a command in a directory.
func (p *Policy) part(w workspace, dir string, e effects.Effect) (list []effect) {
	path := absolute(dir, e.Path)
	switch e.Kind {
	case effects.Starts:
		return unknownEffect(e.Path, p.program(w, e.Path))
	case effects.Obeys, effects.Tracked:
		list = unknownEffect(e.Path, p.obeys(path, e.Kind))
		if e.Kind == effects.Tracked {
			list = append(list, effect{
				kind: effects.Reads, text: e.Path,
				place: place{named: dir, real: dir, inside: true, rel: "."}, wide: true,
			})
		}
		return list
	case effects.Enters:
		if info, err := os.Stat(path + "/."); err != nil || !info.IsDir() {
			return unknownEffect(e.Path, "there is no directory "+e.Path)
		}
	}
	paths, why := []string{path}, ""
	if e.Glob {
		paths, why = expand(dir, e.Path)
	}
	for _, path := range paths {
		at, err := w.locate(path)
		switch {
		case err != nil:
			return unknownEffect(path, err.Error())
		case e.Kind == effects.Walks:
			list = append(list, w.walk(at, e.Links)...)
		case e.Kind == effects.Reads:
			list = append(list, w.read(at)...)
		case e.Kind == effects.Writes:
			list = append(list, pathEffect(effects.Writes, at))
		default:
			list = append(list, pathEffect(effects.Looks, at))
		}
	}
	return append(list, unknownEffect(e.Path, why)...)
}

// read is the effect of a command that shows the content of a file, which can be secret.
func (w workspace) read(at place) []effect {
	e := pathEffect(effects.Reads, at)
	if info, err := os.Stat(at.real); at.named == os.DevNull {
		return nil
	} else if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		e.why, e.sensitive = at.String()+" is not an ordinary file", true
	} else if credentials(at.real) {
		e.why, e.sensitive = at.String()+" has a password or a token", true
	}
	return []effect{e}
}

const (
	// maxBelow bounds the names that are checked before a command reads a whole directory,
	// and maxMatches the expansion of wildcards.
	maxBelow   = 50_000
	maxMatches = 1000
)

// walk is the effect of a command that reads a whole directory, with the first secret file
// in it. links reports whether the command follows links.
func (w workspace) walk(root place, links bool) []effect {
	seen, list := 0, w.read(root)
	for i := range list {
		list[i].wide = true
	}
	err := filepath.WalkDir(root.real, func(path string, entry fs.DirEntry, err error) error {
		link := err == nil && entry.Type()&fs.ModeSymlink != 0
		switch seen++; {
		case seen > maxBelow:
			return fs.ErrInvalid
		case err != nil, entry.IsDir(), link && !links: // the command does not read it
			return nil
		}
		at, err := w.locate(path)
		if err != nil || link && !disk.Within(root.real, at.real) || at.secret() || virtual(path) || credentials(path) {
			list = append(list, effect{
				kind: effects.Reads, text: "reads " + at.String(), place: at, sensitive: true,
				why: "it reads " + filepath.ToSlash(path) + ", which may hold secrets",
			})
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		list = append(list, unknownEffect(root.String(),
			"it reads a directory with more files than can be looked at")...)
	}
	return list
}

// tooWide matches a pattern that can match ".." in older shells, or that has wildcards in
// more than two names.
var tooWide = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|/)\.[*?]|[*?].*/.*[*?].*/.*[*?]`) })

// expand returns the paths that a shell expands a pattern to. A pattern without a match
// stays unchanged.
func expand(dir, pattern string) (paths []string, why string) {
	if tooWide().MatchString(pattern) {
		return nil, pattern + " matches too much"
	}
	found, err := filepath.Glob(absolute(config.Literal(dir), strings.TrimRight(pattern, "/")))
	if err != nil || len(found) > maxMatches {
		return nil, pattern + " matches too many files"
	}
	dots := strings.Contains(pattern[strings.LastIndexByte(pattern, '/')+1:], ".") // of the last name
	for _, path := range found {
		if rel, err := filepath.Rel(dir, path); err != nil || rel[0] == '-' && strings.ContainsAny(pattern[:1], "*?") {
			return nil, "the file " + filepath.ToSlash(rel) + " would be an option"
		}
		if filepath.Base(path)[0] != '.' || dots {
			paths = append(paths, path)
		}
	}
	return append(paths, absolute(dir, pattern)), ""
}
