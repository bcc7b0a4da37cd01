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
	"github.com/settle-agent/settle/internal/policy/effects"
)

// shell is a call of shell.
func (p *Policy) shell(c *toolCall) {
	at := c.workspace.dir
	if c.Workdir != "" {
		c.path(effects.Looks, c.Workdir)
		at = filepath.Clean(absolute(at, c.Workdir))
		if real, err := c.workspace.resolve(at); err != nil || filepath.IsLocal(c.Workdir) && real != filepath.Join(c.workspace.real, c.Workdir) {
			c.hide(c.Command, "its directory is named by a link, which shells read differently") // in "cd .."
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
	s := effects.Parse(c.Command)
	if s.Why != "" {
		c.hide(c.Command, s.Why)
	} else if len(s.Commands) == 0 { // nothing but comments
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

// command finds out what a simple command comes to in a directory.
func (p *Policy) command(w workspace, dir string, c effects.Command) effect {
	e := effect{kind: runs, text: c.Text, why: c.Why, words: c.Words, known: c.Why == "", alias: c.Name == "" && baseName(c.Words[0].Text) == "git"}
	for _, part := range c.Effects {
		e.parts = append(e.parts, p.part(w, dir, part)...)
		e.known = e.known && part.Kind != effects.Writes
	}
	if c.Why == "" {
		return e
	}
	for _, word := range c.Words[1:] { // which may be paths
		text := word.Text
		if _, value, ok := strings.Cut(text, "="); ok {
			text = value
		}
		if place, err := w.locate(absolute(dir, text)); err == nil && strings.ContainsAny(text, "/.") && !strings.Contains(text, "\n") {
			e.parts = append(e.parts, effect{kind: names, text: "names " + place.String(), place: place})
		}
	}
	return e
}

// doubt is what cannot be known, unless there is no reason why.
func doubt(text, why string) []effect {
	if why == "" {
		return nil
	}
	return []effect{{kind: hidden, text: text, why: why}}
}

// part looks up what an effect comes to in a directory.
func (p *Policy) part(w workspace, dir string, e effects.Effect) (list []effect) {
	path := absolute(dir, e.Path)
	switch e.Kind {
	case effects.Starts:
		return doubt(e.Path, p.program(w, e.Path))
	case effects.Obeys, effects.Tracked:
		list = doubt(e.Path, p.obeys(path, e.Kind))
		if e.Kind == effects.Tracked {
			list = append(list, effect{kind: effects.Reads, text: e.Path, place: place{named: dir, real: dir, inside: true, rel: "."}, wide: true})
		}
		return list
	case effects.Enters:
		if info, err := os.Stat(path + "/."); err != nil || !info.IsDir() {
			return doubt(e.Path, "there is no directory "+e.Path)
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
			return doubt(path, err.Error())
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
	return append(list, doubt(e.Path, why)...)
}

// read is a file whose content is shown. It may be secret by that.
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
	// maxBelow bounds the names that are looked at before a command reads all
	// of a directory, and maxMatches what wildcards may stand for.
	maxBelow   = 50_000
	maxMatches = 1000
)

// walk is a directory that is read with all that is in it, and the first secret
// file there. A link is followed if the command does that.
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
		case err != nil, entry.IsDir(), link && !links: // the command reads none
			return nil
		}
		at, err := w.locate(path)
		if err != nil || link && !within(root.real, at.real) || at.secret() || virtual(path) || credentials(path) {
			list = append(list, effect{kind: effects.Reads, text: "reads " + at.String(), place: at, sensitive: true, why: "it reads " + filepath.ToSlash(path) + ", which may hold secrets"})
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		list = append(list, doubt(root.String(), "it reads a directory with more files than can be looked at")...)
	}
	return list
}

// tooWide matches a pattern that may stand for "..", in older shells, or that
// has wildcards in more than two names.
var tooWide = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|/)\.[*?]|[*?].*/.*[*?].*/.*[*?]`) })

// expand returns the paths that a shell makes of a pattern. A pattern without a
// match stays as it is.
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
