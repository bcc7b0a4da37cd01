package ignore

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

// rule is one line of a .gitignore.
type rule struct {
	negated  bool
	dirsOnly bool
	// base reports that the pattern has no slash and matches the last element.
	base bool
	// prefix is the text before the first special byte of a pattern with a slash. It is
	// compared first, and the pattern matches the rest, so that the stars of "a**/b" begin
	// a pattern, as in git (match_pathname in dir.c).
	prefix  string
	pattern wildPattern
	literal bool   // pattern has no special bytes
	suffix  string // pattern is "*" and this text
}

// special are the bytes with a meaning in a pattern.
const special = `*?[\`

// parseRules reads a .gitignore.
func parseRules(text string) []rule {
	var rules []rule
	for l := range strings.Lines(strings.TrimPrefix(text, "\uFEFF")) {
		l = strings.TrimSuffix(strings.TrimSuffix(l, "\n"), "\r")
		if r, ok := parseRule(l); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

func parseRule(l string) (r rule, ok bool) {
	if strings.HasPrefix(l, "#") {
		return r, false
	}
	l = trimSpaces(l)
	l, r.negated = strings.CutPrefix(l, "!")
	l, r.dirsOnly = strings.CutSuffix(l, "/")
	if l == "" {
		return r, false
	}
	r.base = !strings.Contains(l, "/")
	l = strings.TrimPrefix(l, "/")
	first := strings.IndexAny(l, special)
	r.literal = first < 0
	if first > 0 && !r.base {
		r.prefix, l = l[:first], l[first:]
	}
	r.pattern = wildPattern(l)
	if rest, ok := strings.CutPrefix(l, "*"); ok && r.base && !strings.ContainsAny(rest, special) {
		r.suffix = rest
	}
	return r, true
}

// trimSpaces removes unescaped spaces at the end.
func trimSpaces(l string) string {
	end := 0
	for i := 0; i < len(l); i++ {
		switch l[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = min(i+1, len(l))
	}
	return l[:end]
}

// matches matches a path relative to the rule's directory, and its last element.
func (r *rule) matches(path, base string, isDir bool) bool {
	if r.dirsOnly && !isDir {
		return false
	}
	if r.base {
		path = base
	}
	switch {
	case r.literal:
		return path == string(r.pattern)
	case r.suffix != "":
		return strings.HasSuffix(path, r.suffix)
	}
	rest, ok := strings.CutPrefix(path, r.prefix)
	return ok && r.pattern.matches(rest)
}

// Rules are the rules of a directory: its own and, through parent, the rules of the directories
// above it. Rules nearer to a file win, and on one level the last rule. Nil is no rule.
type Rules struct {
	parent *Rules
	depth  int // length of the directory's path from the top, with its slash
	rules  []rule
}

// Ignored reports whether a path from the top, with slashes, is excluded. The directories
// above it are not.
func (ig *Rules) Ignored(path string, isDir bool) bool {
	base := path[strings.LastIndexByte(path, '/')+1:]
	for level := ig; level != nil; level = level.parent {
		for i := len(level.rules) - 1; i >= 0; i-- {
			if r := &level.rules[i]; r.matches(path[level.depth:], base, isDir) {
				return !r.negated
			}
		}
	}
	return false
}

// Enter returns the rules of a directory, whose path from the top is rel, "" or ending in a
// slash; has reports whether it has an entry of a name. A repository within another follows
// only its own rules.
func (ig *Rules) Enter(d *disk.Dir, rel string, has func(name string) bool) *Rules {
	if has(".git") {
		ig = (*Rules)(nil)
		if info, err := d.Below(".git/info"); err == nil {
			ig = ig.with(info, "exclude", rel)
			info.Close()
		}
	}
	if has(".gitignore") {
		ig = ig.with(d, ".gitignore", rel)
	}
	return ig
}

// with adds the rules of a file, if it exists.
func (ig *Rules) with(d *disk.Dir, name, rel string) *Rules {
	rules := readRules(d, name)
	if rules == nil {
		return ig
	}
	return &Rules{parent: ig, depth: len(rel), rules: rules}
}

// OnDisk reports which entries a directory has.
func OnDisk(d *disk.Dir) func(name string) bool {
	return func(name string) bool {
		_, err := d.Lstat(name)
		return err == nil
	}
}

// maxIgnoreBytes bounds the bytes of a .gitignore that are read.
const maxIgnoreBytes = 1 << 20

// readRules reads a file of rules; nil if it cannot be read. It follows no links, as git
// does.
func readRules(d *disk.Dir, name string) []rule {
	f, _, err := d.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxIgnoreBytes))
	if err != nil {
		return nil
	}
	return parseRules(string(text))
}

// repositoryTop returns the directory of the repository around dir, a canonical path, or
// dir itself and false.
func repositoryTop(dir string) (top string, found bool) {
	for at := dir; ; at = filepath.Dir(at) {
		if d, err := disk.OpenDir(at); err == nil {
			found = OnDisk(d)(".git")
			d.Close()
		}
		if found {
			return at, true
		}
		if filepath.Dir(at) == at {
			return dir, false
		}
	}
}

// Above returns the rules of root's parents, up to the top of its repository, and
// root's path from there, "" or ending in a slash. root is a canonical path.
func Above(root string) (ig *Rules, rel string) {
	top, _ := repositoryTop(root)
	below, err := filepath.Rel(top, root)
	if err != nil || below == "." {
		return nil, ""
	}
	at := top
	for name := range strings.SplitSeq(filepath.ToSlash(below), "/") {
		if d, err := disk.OpenDir(at); err == nil {
			ig = ig.Enter(d, rel, OnDisk(d))
			d.Close()
		}
		at = filepath.Join(at, name)
		rel += name + "/"
	}
	return ig, rel
}
