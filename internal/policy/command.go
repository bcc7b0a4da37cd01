package policy

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/policy/effects"
	"github.com/settle-agent/settle/internal/repo"
)

// shell is a call of shell.
func (p *Policy) shell(c *toolCall) {
	at := c.workspace.dir
	if c.Workdir != "" {
		c.path(looks, c.Workdir)
		at = filepath.Clean(absolute(at, c.Workdir))
		if real, err := repo.Resolve(at); err != nil || filepath.IsLocal(c.Workdir) && real != filepath.Join(c.workspace.real, c.Workdir) {
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
		e := p.command(c.workspace, at, command)
		e.why = cmp.Or(e.why, danger)
		c.add(e)
	}
	c.harmless = !slices.ContainsFunc(c.effects, func(e effect) bool { return !e.known && e.kind != looks })
}

// command finds out what a simple command comes to in this place.
func (p *Policy) command(w workspace, at string, c effects.Command) effect {
	e := effect{kind: runs, text: c.Text, why: c.Why, words: c.Words, known: c.Why == ""}
	for _, dir := range c.Dirs {
		dir = filepath.Clean(absolute(at, dir))
		e.dirs = append(e.dirs, dir)
		for _, part := range c.Effects {
			e.parts = append(e.parts, p.part(w, dir, part)...)
			e.known = e.known && part.Kind != effects.Writes
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
func (p *Policy) part(w workspace, dir string, e effects.Effect) []effect {
	switch e.Kind {
	case effects.Starts:
		return doubt(e.Path, p.program(w, e.Path))
	case effects.Obeys:
		return doubt(e.Path, p.obeys(absolute(dir, e.Path)))
	case effects.Tracked:
		top := place{named: dir, real: dir, inside: true, rel: "."}
		return append(doubt(e.Path, tracked(absolute(dir, e.Path))), effect{kind: reads, text: e.Path, place: top, wide: true})
	}
	names := []string{e.Path}
	if e.Glob {
		var why string
		if names, why = expand(dir, e.Path); why != "" {
			return doubt(e.Path, why)
		}
	}
	var list []effect
	for _, name := range names {
		list = append(list, named(w, dir, name, e)...)
	}
	return list
}

// named are the effects on one path.
func named(w workspace, dir, name string, e effects.Effect) []effect {
	as := cmp.Or(map[effects.Kind]kind{effects.Looks: looks, effects.Writes: writes}[e.Kind], reads)
	if name == os.DevNull && as == reads {
		return nil
	}
	places, err := w.locateAll(dir, name)
	if err != nil {
		return doubt(name, err.Error())
	}
	var list []effect
	for _, place := range places {
		found := pathEffect(as, place)
		if why := odd(place.real); why != "" && as == reads {
			found.why, found.sensitive = place.String()+why, true
		}
		found.wide = e.Kind == effects.Walks
		if list = append(list, found); found.wide {
			list = append(list, below(w, place, e)...)
		}
	}
	return list
}

// odd says why a file may have secrets whatever its name is.
func odd(path string) string {
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir() && !info.Mode().IsRegular():
		return " is not an ordinary file"
	case credentials(path):
		return " has a password or a token"
	}
	return ""
}

const (
	// maxBelow bounds the names that are looked at before a command reads all
	// of a directory, maxMatches what wildcards may stand for, and maxWild how
	// many names of a path may have some.
	maxBelow   = 20_000
	maxMatches = 1000
	maxWild    = 2
)

// below finds secret files in a directory that is read with all that is in it.
func below(w workspace, root place, e effects.Effect) []effect {
	seen := 0
	var found []effect
	// A line with "!" in such a file has rg show what is hidden.
	shown := e.Hidden || slices.ContainsFunc(upwards(root.real), unhides)
	err := filepath.WalkDir(root.real, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // the command cannot read it either
		}
		if seen++; seen > maxBelow {
			return fs.ErrInvalid
		}
		link := entry.Type()&fs.ModeSymlink != 0
		switch {
		case path != root.real && !shown && entry.Name()[0] == '.' && entry.IsDir():
			return fs.SkipDir
		case entry.IsDir() && !shown && unhides(path):
			e.Hidden = true
			return fs.SkipAll
		case entry.IsDir(), link && !e.Links, path != root.real && !shown && entry.Name()[0] == '.':
			return nil
		}
		p, err := w.locate(w.dir, path)
		if err != nil || link && !within(root.real, p.real) || p.secret() || virtual(path) || credentials(path) {
			found = []effect{{kind: reads, text: "reads " + p.String(), place: p, sensitive: true, why: "it reads " + filepath.ToSlash(path) + ", which may hold secrets"}}
			return fs.SkipAll
		}
		return nil
	})
	switch {
	case e.Hidden && !shown:
		return below(w, root, e)
	case err != nil:
		return doubt(root.String(), "it reads a directory with more files than can be looked at")
	}
	return found
}

// unhides reports whether a directory has a file that names what is not to be
// ignored.
func unhides(dir string) bool {
	return slices.ContainsFunc([]string{".gitignore", ".ignore", ".rgignore", ".git/info/exclude"}, func(name string) bool {
		text, err := readFile(filepath.Join(dir, name))
		return err != nil && !os.IsNotExist(err) || strings.Contains("\n"+text, "\n!")
	})
}

// expand returns what a shell makes of a pattern, and more: of names that begin
// with a dot, too. A pattern without a match stays as it is.
func expand(dir, pattern string) (names []string, why string) {
	wild, dots := 0, strings.Contains(pattern[strings.LastIndexByte(pattern, '/')+1:], ".") // of the last name
	for name := range strings.SplitSeq(pattern, "/") {
		if strings.ContainsAny(name, "*?") {
			wild++
		}
		if wild > maxWild || strings.HasPrefix(name, ".*") || strings.HasPrefix(name, ".?") { // "..", in older shells
			return nil, pattern + " matches too much"
		}
	}
	full := Literal(dir) + "/"
	if filepath.IsAbs(pattern) {
		full = ""
	}
	found, err := filepath.Glob(full + strings.TrimRight(pattern, "/"))
	if err != nil || len(found) > maxMatches {
		return nil, pattern + " matches too many files"
	}
	for _, name := range found {
		if rel, err := filepath.Rel(dir, name); (err != nil || rel[0] == '-') && full != "" && !strings.HasPrefix(pattern, "./") {
			return nil, "the file " + filepath.ToSlash(rel) + " would be an option"
		}
		if filepath.Base(name)[0] != '.' || dots {
			names = append(names, name)
		}
	}
	return append(names, pattern), ""
}
