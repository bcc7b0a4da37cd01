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
		if real, err := resolve(at); err != nil || filepath.IsLocal(c.Workdir) && real != filepath.Join(c.ground.real, c.Workdir) {
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
	}
	danger := hazard(c.ground, p.config.Environ)
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
	if e.In != "" {
		dir = absolute(dir, e.In)
	}
	switch e.Kind {
	case effects.Starts:
		return doubt(p.program(g, e.Path))
	case effects.Toolchain:
		return doubt(p.toolchain(dir))
	case effects.Obeys:
		return doubt(p.obeys(absolute(dir, e.Path)))
	case effects.Remotes:
		return doubt(p.remotes(absolute(dir, e.Path)))
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
		if info, err := os.Stat(place.real); as == reads && err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			one.why, one.sensitive = place.String()+" is not an ordinary file", true
		}
		one.wide = e.Kind == effects.Walks
		if as == reads && credentials(place.real) {
			one.why, one.sensitive = place.String()+" has a password or a token", true
		}
		if list = append(list, one); one.wide {
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
	// A line with "!" in such a file has rg show what is hidden.
	shown := e.Hidden || slices.ContainsFunc(upwards(root.real), unhides)
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
		case path != root.real && !shown && strings.HasPrefix(name, "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir() && !shown && unhides(path):
			e.Hidden = true
			return fs.SkipAll
		case entry.IsDir(), link && !e.Links, len(e.Only) > 0 && !slices.ContainsFunc(e.Only, func(only string) bool { return picks(only, name) }):
			return nil
		}
		p, err := g.locate(g.dir, path)
		if err != nil || link && !within(root.real, p.real) || p.secret() || virtual(path) || credentials(path) {
			one := pathEffect(reads, p)
			one.why, one.sensitive = "it reads "+filepath.ToSlash(path)+", which may hold secrets", true
			found = &one
			return fs.SkipAll
		}
		return nil
	})
	switch {
	case e.Hidden && !shown:
		return below(g, root, e)
	case err != nil:
		return []effect{{kind: hidden, text: root.String(), why: "it reads a directory with more files than can be looked at"}}
	case found != nil:
		return []effect{*found}
	}
	return nil
}

// unhides reports whether a directory has a file that names what is not to be
// ignored.
func unhides(dir string) bool {
	return slices.ContainsFunc([]string{".gitignore", ".ignore", ".rgignore", ".git/info/exclude"}, func(name string) bool {
		text, err := readFile(filepath.Join(dir, name))
		return err != nil && !os.IsNotExist(err) || strings.Contains("\n"+text, "\n!")
	})
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
