package repo

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/internal/safefile"
)

// Trust decides whose directories may speak to settle: the user's own, and
// those that git's safe.directory names (git-config(1)). The zero value knows
// of no such names.
type Trust struct {
	// SudoUID is the value of SUDO_UID: root trusts whoever became root.
	SudoUID string
	// Safe, if set, returns the values of safe.directory in the system's and
	// the user's configuration of git, in order. It is asked only about a
	// directory of somebody else.
	Safe func() []string

	self *int // the user's id instead of the process's, for tests
}

// Project is what of a project may speak to settle. The zero value says
// nothing.
type Project struct {
	// Dirs are the trusted directories, from the repository's root down.
	Dirs []string
	// Notes are for the user: what is not trusted, and how to trust it.
	Notes []string

	everybody bool // safe.directory names it: owners do not matter
	trust     Trust
}

// speakers are the files and directories of a project that speak to settle.
func speakers() []string {
	return []string{
		"AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", ".settle", ".agents/skills", ".claude/skills", ".claude/commands", ".codex/skills",
	}
}

// Project returns what around dir, an absolute path, may speak: dir and its
// parents up to the root of its repository. A repository of somebody else
// counts as none.
func (t Trust) Project(dir string) Project {
	p := Project{trust: t}
	path := Path(dir)
	root, at := path[0], path[len(path)-1]
	_, inside := Root(dir)
	ours := t.owns(root) && (!inside || t.owns(filepath.Join(root, ".git")))
	if !ours && t.named(root) {
		p.everybody, p.Dirs = true, path
		return p
	}
	for _, d := range path {
		switch {
		case ours && t.harmless(d), !ours && d == at && d != root && t.owns(d):
			p.Dirs = append(p.Dirs, d)
		case speaks(d):
			p.Notes = append(p.Notes, refusal(d, root))
		}
	}
	return p
}

func speaks(dir string) bool {
	return slices.ContainsFunc(speakers(), func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

func refusal(at, subject string) string {
	return fmt.Sprintf("%q is not trusted, because it or its .git belongs to another user: its AGENTS.md, CLAUDE.md, .settle, skills and commands are not read. "+
		"If you trust it: git config --global --add safe.directory %q", at, subject)
}

// Harmless reports whether a directory within the project's may speak like those.
func (p Project) Harmless(dir string) bool { return p.everybody || p.trust.harmless(dir) }

// ReadFile is [safefile.Read] for a file in one of the project's directories. A file
// that somebody else put there, such as into a directory that all may write,
// is an error.
func (p Project) ReadFile(path string, limit int64) (data []byte, size int64, err error) {
	if link, err := os.Lstat(path); err == nil && !p.everybody && !p.trust.harmlessFile(link) {
		return nil, 0, foreign(path)
	}
	return safefile.ReadIf(path, limit, func(info fs.FileInfo) error {
		if !p.everybody && !p.trust.harmlessFile(info) {
			return foreign(path)
		}
		return nil
	})
}

func foreign(path string) error {
	return fmt.Errorf("cannot trust %q: it belongs to another user", path)
}

// named reports whether git's safe.directory names the directory: as itself,
// with "*", or as below "PARENT/*". An empty value starts anew.
func (t Trust) named(dir string) bool {
	if t.Safe == nil {
		return false
	}
	dir = actual(dir)
	safe := false
	for _, value := range t.Safe() {
		parent, below := strings.CutSuffix(value, "/*")
		switch {
		case value == "":
			safe = false
		case value == "*":
			safe = true
		case !filepath.IsAbs(value):
		case below:
			safe = safe || strings.HasPrefix(dir, strings.TrimSuffix(actual(parent), "/")+"/")
		default:
			safe = safe || dir == actual(value)
		}
	}
	return safe
}

// owns reports whether a directory is the user's, as git would.
func (t Trust) owns(path string) bool {
	info, err := os.Lstat(actual(path))
	if err != nil {
		return false
	}
	owner, known := ownerOf(info)
	return !known || slices.Contains(t.users(), owner)
}

// harmless is owns, but root's things count, too, for what lies in a directory
// that is the user's: root needs no file to rule here.
func (t Trust) harmless(path string) bool {
	info, err := os.Lstat(actual(path))
	return err == nil && t.harmlessFile(info)
}

func (t Trust) harmlessFile(info fs.FileInfo) bool {
	owner, known := ownerOf(info)
	return !known || owner == 0 || slices.Contains(t.users(), owner)
}

// users are the ids of those whose directories are the user's own.
func (t Trust) users() []int {
	self := os.Geteuid()
	if t.self != nil {
		self = *t.self
	}
	if sudo, err := strconv.Atoi(t.SudoUID); err == nil && self == 0 {
		return []int{self, sudo}
	}
	return []int{self}
}

func actual(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return filepath.Clean(path)
}
