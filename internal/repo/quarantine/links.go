package quarantine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

// maxLinks bounds the links that a path is followed through, as the kernel does.
const maxLinks = 40

// link is a link below a base that leads, or can be made to lead, to a folder that commands can
// change and that the guard does not look at. No guard judges a repository there, and the user
// reaches it through the link.
type link struct {
	base, rel  string
	trusted    string // the target of the user's link
	mayBeUsers bool
	reported   bool // that it could not be moved
}

// seeLink records a new link.
func (g *Guard) seeLink(base, rel string) {
	path := filepath.Join(base, rel)
	target, err := os.Readlink(path)
	if err != nil || !g.leadsAstray(filepath.Dir(path), target) && !turns(target) {
		return
	}
	if g.links[path] == nil {
		g.links[path] = &link{base: base, rel: rel, mayBeUsers: g.unseenUsers}
	}
}

// turns reports whether a target goes up after it went down: where it leads depends on
// links that can change later.
func turns(target string) bool {
	down := false
	for name := range strings.SplitSeq(filepath.ToSlash(target), "/") {
		if name == ".." && down {
			return true
		}
		down = down || name != ".." && name != "." && name != ""
	}
	return false
}

// leadsAstray reports whether a path leads from a folder to, or through, a folder that is
// not looked at.
func (g *Guard) leadsAstray(from, to string) bool {
	_, astray := g.walkPath(from, to)
	return astray
}

// follow returns where a path in a file of a repository leads from a folder. It is not ok if
// the path leads to, or through, a folder that is not looked at, and if git could read the
// path in another way: with a control character, at which git's strings can end, or with a
// way up behind a way down. Git itself writes no such path.
func (g *Guard) follow(from, to string) (target string, ok bool) {
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	if strings.ContainsFunc(to, control) || turns(to) {
		return "", false
	}
	at, astray := g.walkPath(from, to)
	return at, !astray && at != ""
}

// walkPath goes from name to name as the kernel does; names that do not exist yet count as
// folders. It reports whether the path leads to, or through, a folder that is not looked at.
// A loop of links leads nowhere.
func (g *Guard) walkPath(from, to string) (at string, astray bool) {
	at = from
	names := strings.Split(filepath.ToSlash(to), "/")
	if filepath.IsAbs(to) {
		at = filepath.VolumeName(to) + string(filepath.Separator)
	}
	for links := 0; len(names) > 0; {
		name := names[0]
		names = names[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		if g.hidden(next) || disk.Within("/proc", next) {
			return next, true
		}
		target, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", false // the kernel refuses it as well
		}
		if filepath.IsAbs(target) {
			at = filepath.VolumeName(target) + string(filepath.Separator)
		}
		names = slices.Concat(strings.Split(filepath.ToSlash(target), "/"), names)
	}
	return at, g.hidden(at)
}

// trustLinks records the links in some of the bases as the user's.
func (g *Guard) trustLinks(bases []string) {
	for path, l := range g.links {
		if target, err := os.Readlink(path); err == nil && slices.Contains(bases, l.base) && !l.reported {
			l.trusted = target
		}
	}
}

// readlink reads a link, through no other link.
func (g *Guard) readlink(l *link) (string, error) {
	parent, err := g.open(g.bases[l.base], filepath.Dir(l.rel))
	if err != nil {
		return "", err
	}
	defer parent.Close()
	return parent.Readlink(filepath.Base(l.rel))
}

// moveLinks moves new links aside that lead to a folder that is not looked at.
func (g *Guard) moveLinks() {
	for path, l := range g.links {
		if g.look.mustEnd() {
			return
		}
		target, err := g.readlink(l)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				delete(g.links, path)
			}
			continue
		}
		if target == l.trusted || !g.leadsAstray(filepath.Dir(path), target) {
			continue
		}
		finding := Finding{
			Path: path,
			Why:  "it is a link to " + target + ", where sandboxed commands can write and settle does not look for repositories",
		}
		if l.mayBeUsers {
			l.trusted = target // reported once
			finding.Why += "; it may be yours, since settle had not looked at it before the command, and stays where it is"
			g.findings = append(g.findings, finding)
			continue
		}
		moved, err := g.aside(g.bases[l.base], l.rel)
		if exchanged(err) {
			continue
		}
		if err != nil {
			if l.reported {
				continue
			}
			l.reported = true
			finding.Why += "; it could not be moved aside (" + err.Error() + "): run no git there"
		} else {
			finding.Moved = filepath.Join(l.base, moved)
			delete(g.links, path)
			g.links[finding.Moved] = &link{base: l.base, rel: moved, trusted: target}
		}
		g.findings = append(g.findings, finding)
	}
}
