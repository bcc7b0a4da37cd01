package repo

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

// Trust decides which directories can configure settle: the user's own directories, and the
// directories in git's safe.directory (git-config(1)). The zero value has no
// safe.directory.
type Trust struct {
	// SudoUID is the value of SUDO_UID: root trusts the user who became root.
	SudoUID string
	// Safe, if set, returns the values of safe.directory in the system's and the user's git
	// configuration, in order. Trust calls it only for a directory of another user.
	Safe func() []string

	self *int // the user's id, for tests; nil for the id of the process
}

// Project is the trusted part of a project. The zero value trusts nothing.
type Project struct {
	// Dirs are the trusted directories, from the repository's root down.
	Dirs []string
	// Notes tell the user which directories are not trusted, and how to trust them.
	Notes []string

	everybody bool // safe.directory names the project, so that owners have no effect
	trust     Trust
}

// speakers are the files and directories with which a project configures settle.
func speakers() []string {
	return []string{
		"AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", ".settle", ".agents/skills",
		".claude/skills", ".claude/commands", ".codex/skills",
	}
}

// Project returns the trusted directories among dir, an absolute path, and its parents up
// to the root of its repository. The repository of another user counts as none.
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
	return fmt.Sprintf(
		"%q is not trusted, because it or its .git belongs to another user: its AGENTS.md, CLAUDE.md, .settle, skills and commands are not read. "+
			"If you trust it: git config --global --add safe.directory %q",
		at,
		subject,
	)
}

// Harmless reports whether a directory inside the project is trusted like the project.
func (p Project) Harmless(dir string) bool { return p.everybody || p.trust.harmless(dir) }

// File is a file of a project: the place that its path led to when Locate followed its
// links. The file need not exist.
type File struct {
	// Name is the path from the project's root, without links.
	Name string

	place disk.Place
}

// Real is the canonical path, without links.
func (f File) Real() string { return f.place.Real }

// OutsideError: a path of a project leads out of the project.
type OutsideError struct{ Real string }

func (e *OutsideError) Error() string {
	return fmt.Sprintf("it is a link out of the project, to %q", e.Real)
}

// Locate follows the links of an absolute path, once. A path that leads out of the project
// is an [OutsideError]: a hostile repository must not make settle read a private file of
// the user.
func (p Project) Locate(path string) (File, error) {
	place, err := disk.Locate(filepath.Dir(path), path, nil)
	if err != nil {
		return File{}, err
	}
	return p.Of(place)
}

// Of is [Project.Locate] for a place that is already located.
func (p Project) Of(place disk.Place) (File, error) {
	if len(p.Dirs) == 0 {
		return File{}, &OutsideError{place.Real}
	}
	root, err := disk.Resolve(p.Dirs[0])
	if err != nil {
		return File{}, err
	}
	name, err := filepath.Rel(root, place.Real)
	if err != nil || !filepath.IsLocal(name) {
		return File{}, &OutsideError{place.Real}
	}
	return File{name, place}, nil
}

// Open opens a file for reading. It refuses a file that another user put there, such as into
// a directory that all users can write, and a file that not all users can read and that can
// have another name outside the project.
func (p Project) Open(f File) (*os.File, error) {
	file, info, err := f.place.Open()
	switch {
	case err != nil:
		return nil, err
	case !p.everybody && !p.trust.harmlessFile(info):
		err = foreign(f.place.Named)
	case disk.Shared(info):
		err = fmt.Errorf(
			"cannot trust %q: it has another name (a hard link), which can be outside the project, and not all users can read it",
			f.place.Named,
		)
	}
	if err != nil {
		_ = file.Close() // nothing was read
		return nil, err
	}
	return file, nil
}

// Read returns the first limit bytes of a file that [Project.Open] accepts, and its size.
func (p Project) Read(f File, limit int64) (data []byte, size int64, err error) {
	file, err := p.Open(f)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = file.Close() }() // the file was only read
	return disk.ReadHead(file, f.place.Named, limit)
}

// ReadFile is [Project.Locate] and [Project.Read]. It also refuses a link that another user put there.
func (p Project) ReadFile(path string, limit int64) (data []byte, size int64, err error) {
	f, err := p.locateFile(path)
	if err != nil {
		return nil, 0, err
	}
	return p.Read(f, limit)
}

// OpenFile is [Project.Locate] and [Project.Open]. It also refuses a link that another user put there.
func (p Project) OpenFile(path string) (*os.File, error) {
	f, err := p.locateFile(path)
	if err != nil {
		return nil, err
	}
	return p.Open(f)
}

func (p Project) locateFile(path string) (File, error) {
	if link, err := os.Lstat(path); err == nil && !p.everybody && !p.trust.harmlessFile(link) {
		return File{}, foreign(path)
	}
	return p.Locate(path)
}

func foreign(path string) error {
	return fmt.Errorf("cannot trust %q: it belongs to another user", path)
}

// named reports whether git's safe.directory names the directory: exactly, with "*", or
// with "PARENT/*". An empty value clears the list.
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

// owns reports whether the user owns a directory, by git's rules.
func (t Trust) owns(path string) bool {
	info, err := os.Lstat(actual(path))
	if err != nil {
		return false
	}
	owner, known := disk.Owner(info)
	return !known || slices.Contains(t.users(), owner)
}

// harmless is owns, and also accepts root's files in a directory of the user: root needs no
// such file to control the machine.
func (t Trust) harmless(path string) bool {
	info, err := os.Lstat(actual(path))
	return err == nil && t.harmlessFile(info)
}

func (t Trust) harmlessFile(info fs.FileInfo) bool {
	owner, known := disk.Owner(info)
	return !known || owner == 0 || slices.Contains(t.users(), owner)
}

// users are the ids of the users whose directories count as the user's own.
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
