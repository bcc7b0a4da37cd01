package policy

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/policy/effects"
)

// script is a call of shell.
func (p *Policy) script(c *call) {
	at := c.ground.dir
	if c.Workdir != "" {
		c.path(looks, c.Workdir)
		at = filepath.Clean(absolute(at, c.Workdir))
	}
	switch {
	case p.opaque:
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
	}
	danger := hazard(c.ground, p.environ)
	for _, command := range s.Commands {
		e := p.command(c.ground, at, command)
		e.why = cmp.Or(e.why, danger)
		c.add(e)
	}
	if len(c.effects) == 0 { // nothing but comments
		c.add(effect{kind: runs, text: c.Command, words: []effects.Word{{Text: ":"}}, known: true})
	}
	c.harmless = !slices.ContainsFunc(c.effects, func(e effect) bool { return !e.known && e.kind != looks })
}

// command finds out what a simple command comes to in this place.
func (p *Policy) command(g ground, at string, c effects.Command) effect {
	e := effect{kind: runs, text: c.Text, why: c.Why, words: c.Words, known: c.Why == ""}
	for _, dir := range c.Dirs {
		e.dirs = append(e.dirs, filepath.Clean(absolute(at, dir)))
	}
	for _, dir := range e.dirs {
		for _, one := range c.Effects {
			e.parts = append(e.parts, p.part(g, dir, one)...)
			e.known = e.known && one.Kind != effects.Writes
		}
	}
	return e
}

// part looks up what an effect comes to in a directory.
func (p *Policy) part(g ground, dir string, e effects.Effect) []effect {
	doubt := func(why string) []effect {
		if why == "" {
			return nil
		}
		return []effect{{kind: hidden, text: e.Path, why: why}}
	}
	switch e.Kind {
	case effects.Starts:
		return doubt(p.program(g, e.Path))
	case effects.Toolchain:
		return doubt(p.toolchain(dir))
	case effects.Obeys:
		return doubt(p.obeys(absolute(dir, e.Path)))
	case effects.Remotes:
		return doubt(remotes(absolute(dir, e.Path)))
	case effects.Tracked:
		return append(doubt(tracked(g, dir, e.Path)), effect{kind: reads, text: e.Path, place: place{named: dir, real: dir, inside: true, rel: "."}, wide: true})
	}
	names := []string{e.Path}
	if e.Glob {
		var why string
		if names, why = expand(dir, e.Path); why != "" {
			return doubt(why)
		}
	}
	var list []effect
	for _, name := range names {
		if e.Glob && strings.HasPrefix(name, "-") {
			return doubt("the file " + name + " would be an option")
		}
		list = append(list, p.named(g, dir, name, e)...)
	}
	return list
}

// named are the effects on one path.
func (p *Policy) named(g ground, dir, name string, e effects.Effect) []effect {
	as := map[effects.Kind]kind{effects.Looks: looks, effects.Writes: writes}[e.Kind]
	if as == "" {
		as = reads
	}
	if name == os.DevNull && as == reads {
		return nil
	}
	places, err := g.locateAll(dir, name)
	if err != nil {
		return []effect{{kind: hidden, text: name, why: err.Error()}}
	}
	var list []effect
	for _, place := range places {
		one := pathEffect(as, place)
		one.wide = e.Kind == effects.Walks
		if as == reads && one.why == "" && credentials(place.real) {
			one.why = place.String() + " has a password or a token"
		}
		if list = append(list, one); one.wide && place.inside {
			list = append(list, below(g, place, e)...)
		}
	}
	return list
}

const (
	// maxBelow bounds the names that are looked at before a command reads all
	// of a directory, maxMatches what wildcards may stand for.
	maxBelow   = 20_000
	maxMatches = 1000
)

// below finds secret files in a directory that is read with all that is in it.
func below(g ground, root place, e effects.Effect) []effect {
	seen := 0
	var found *effect
	err := filepath.WalkDir(root.real, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // the command cannot read it either
		}
		if seen++; seen > maxBelow {
			return fs.ErrInvalid
		}
		name := entry.Name()
		link := entry.Type()&fs.ModeSymlink != 0
		switch {
		case path != root.real && !e.Hidden && strings.HasPrefix(name, "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir(), link && !e.Links, len(e.Only) > 0 && !slices.ContainsFunc(e.Only, func(only string) bool { return picks(only, name) }):
			return nil
		}
		p, err := g.locate(g.dir, path)
		if err != nil || link && !within(root.real, p.real) || p.secret() || credentials(path) {
			one := pathEffect(reads, p)
			one.why = "it reads " + filepath.ToSlash(path) + ", which may hold secrets"
			found = &one
			return fs.SkipAll
		}
		return nil
	})
	switch {
	case err != nil:
		return []effect{{kind: hidden, text: root.String(), why: "it reads a directory with more files than can be looked at"}}
	case found != nil:
		return []effect{*found}
	}
	return nil
}

// picks reports whether a pattern may match a name. What is more than "*" is
// taken to match anything.
func picks(pattern, name string) bool {
	last := pattern[strings.LastIndexByte(pattern, '/')+1:]
	return last == "" || strings.ContainsAny(last, `?[\{`) || fits(last, name)
}

// expand returns what a shell makes of a pattern, and more: "?" is taken for
// "*". A pattern without a match stays as it is.
func expand(dir, pattern string) (names []string, why string) {
	names = []string{""}
	for i, segment := range strings.Split(pattern, "/") {
		var found []string
		wild := strings.ReplaceAll(segment, "?", "*")
		for _, name := range names {
			if i > 0 {
				name += "/"
			}
			if !strings.Contains(wild, "*") {
				found = append(found, name+segment)
				continue
			}
			entries, err := os.ReadDir(absolute(dir, cmp.Or(name, ".")))
			if err != nil {
				continue
			}
			for _, dot := range []string{".", ".."} { // which older shells find as well
				if wild[0] == '.' && fits(wild, dot) {
					found = append(found, name+dot)
				}
			}
			for _, entry := range entries {
				if fits(wild, entry.Name()) && (entry.Name()[0] != '.' || wild[0] == '.') {
					found = append(found, name+entry.Name())
				}
			}
		}
		if names = found; len(names) > maxMatches {
			return nil, fmt.Sprintf("%s matches too many files", pattern)
		}
	}
	return append(names, pattern), ""
}
