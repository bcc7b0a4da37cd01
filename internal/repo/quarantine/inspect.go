package quarantine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/settle-agent/settle/internal/disk"
)

// maxFile bounds the bytes of one file of a repository that are read.
const maxFile = 1 << 20

// fault is one part of a repository that could make git run a program.
type fault struct {
	entry string // the path to move aside, from the repository's folder, with slashes
	why   string
	id    string // identifies the fault with its content
}

// place is the location of a repository.
type place struct {
	path  string // absolute path of its folder
	guard *Guard // knows where pointers may lead
	look  *look  // bounds the reads
}

// read returns the content of a regular file; nil, without an error, if there is none.
func read(dir *os.Root, name string) ([]byte, error) {
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errOdd
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|disk.NonBlocking, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !now.Mode().IsRegular() {
		return nil, errOdd
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if len(data) > maxFile {
		return nil, errors.New("it is too large")
	}
	return data, err
}

var errOdd = errors.New("it is not an ordinary file")

// inspect returns the faults of the repository in a folder, except links below it.
func inspect(dir *os.Root, at place) []fault {
	var faults []fault
	add := func(entry, why, id string) { faults = append(faults, fault{entry, why, entry + " " + id}) }
	text := func(name string) string {
		data, err := read(dir, name)
		if err != nil {
			add(name, fmt.Sprintf("its %s cannot be read: %v", name, err), at.look.identify(dir, name))
		}
		return string(data)
	}
	for _, name := range []string{"config", "config.worktree"} {
		for _, f := range checkConfig(name, text(name), at.worktree, at.local) {
			add(f.entry, f.why, f.id)
		}
	}
	if common := text("commondir"); common != "" &&
		!(common == "../..\n" && path.Base(path.Dir(filepath.ToSlash(at.path))) == "worktrees") {
		add("commondir", fmt.Sprintf("its commondir leads to %.100q", strings.TrimSpace(common)), common)
	}
	for line := range strings.Lines(text("objects/info/alternates")) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if _, ok := at.guard.follow(filepath.Join(at.path, "objects"), line); !ok || line[0] == '"' { // git unquotes it
			add("objects/info/alternates", "its objects are in "+line+", which is not looked at", line)
		}
	}
	for _, f := range slices.Concat(hooks(dir, at.look), operations(dir, at.look)) {
		add(f.entry, f.why, f.id)
	}
	for _, name := range []string{"remotes", "branches"} { // an older form of configuration
		if list, err := readDir(dir, name, at.look); len(list) > 0 || err != nil {
			add(name, "it has remotes in "+name, at.look.identify(dir, name))
		}
	}
	return faults
}

// worktree reports whether a value of core.worktree is the folder that points to this
// repository.
func (at place) worktree(value string) bool {
	top, ok := at.guard.follow(at.path, value)
	if !ok || !at.guard.looked(top) || at.guard.looked(at.path) && top == at.path {
		return false
	}
	data, _, err := disk.Read(filepath.Join(top, ".git"), maxFile) // its content is only compared
	to, ok := pointer(data)
	if err != nil || !ok {
		return false
	}
	back, ok := at.guard.follow(top, to)
	return ok && back == at.path
}

// pointer returns the target of a file .git.
func pointer(data []byte) (string, bool) {
	to, ok := bytes.CutPrefix(data, []byte("gitdir: "))
	return strings.TrimRight(string(to), "\r\n"), ok
}

// hooks returns a fault if there is a hook.
func hooks(dir *os.Root, look *look) []fault {
	list, err := readDir(dir, "hooks", look)
	if err != nil {
		return []fault{{"hooks", "its hooks cannot be looked at: " + err.Error(), look.identify(dir, "hooks")}}
	}
	var names []string
	for _, entry := range list {
		if strings.HasSuffix(entry.Name(), ".sample") || look.mustEnd() {
			continue
		}
		if info, err := dir.Lstat("hooks/" + entry.Name()); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
			continue // it does nothing
		}
		names = append(names, entry.Name())
	}
	if names == nil {
		return nil
	}
	if len(names) > 3 {
		names = append(names[:3], "…")
	}
	return []fault{{"hooks", "it has hooks: " + strings.Join(names, ", "), look.identify(dir, "hooks")}}
}

// readDir lists a folder; empty if there is none. The list is incomplete if the look ends.
func readDir(dir *os.Root, name string, look *look) (list []fs.DirEntry, err error) {
	info, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Mode().IsRegular():
		return nil, nil // git expects a folder
	}
	if !info.IsDir() {
		return nil, errOdd
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	err = look.entries(f, func(entry fs.DirEntry) { list = append(list, entry) })
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, err
}

// inspectPointer returns the fault of an entry .git that is not a folder.
func inspectPointer(dir *os.Root, name string, at place) []fault {
	bad := func(why, id string) []fault { return []fault{{name, why, name + " " + id}} }
	data, err := read(dir, name)
	if err != nil {
		return bad("its .git is a link, or no ordinary file", at.look.identify(dir, name))
	}
	to, ok := pointer(data)
	if !ok {
		return nil // git refuses it
	}
	target, ok := at.guard.follow(at.path, to)
	switch {
	case !ok:
	case at.guard.kept(target):
		if at.guard.vouched(target, filepath.Join(at.path, name)) {
			return nil
		}
	case at.guard.looked(target): // looks also inspect the target
		return nil
	}
	return bad("its .git leads to "+to, string(data))
}

// vouched reports whether the folder of a worktree or submodule, which no command can
// change, names the file .git that points to it.
func (g *Guard) vouched(target, file string) bool {
	leads := func(to, want string) bool {
		got, ok := g.follow(target, to)
		return ok && got == want
	}
	back, err := os.ReadFile(filepath.Join(target, "gitdir"))
	if err == nil {
		return filepath.Base(filepath.Dir(target)) == "worktrees" && leads(strings.TrimRight(string(back), "\n"), file)
	}
	data, err := os.ReadFile(filepath.Join(target, "config"))
	list, strange := variables(string(data))
	if err != nil || strange != "" {
		return false
	}
	return slices.ContainsFunc(list, func(v variable) bool {
		return v.name() == "core.worktree" && leads(v.value, filepath.Dir(file))
	})
}
