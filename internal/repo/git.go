package repo

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/disk"
)

// maxIndex bounds the bytes of an index that are read.
const maxIndex = 64 << 20

// Git is the location of a git repository; the zero value is none.
type Git struct {
	// Top is the root of the work tree, Own the directory of this work tree, and Common the
	// directory that all work trees share.
	Top, Own, Common string
}

// FindGit returns the repository that git finds from dir, an absolute path without links.
// It fails on anything that git could accept as a repository and that is not an ordinary
// one: a directory .git, or a work tree as git makes it.
func FindGit(dir string) (Git, error) {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		own := filepath.Join(at, ".git")
		info, err := os.Lstat(own)
		if err != nil {
			if exists(at, "HEAD") && (exists(at, "commondir") || exists(at, "objects") && exists(at, "refs")) {
				return Git{}, fmt.Errorf("%q looks like a repository without a work tree", at)
			}
			if at == filepath.Dir(at) {
				return Git{}, nil
			}
			continue
		}
		g := Git{at, own, own}
		ordinary := info.IsDir() && !exists(own, "commondir")
		if info.Mode().IsRegular() {
			g, ordinary = workTree(at)
		}
		// Without a valid HEAD, git searches in other places.
		head := content(filepath.Join(g.Own, "HEAD"))
		if !ordinary || !headLine().MatchString(head) || !exists(g.Common, "objects") || !exists(g.Common, "refs") {
			return Git{}, fmt.Errorf("%q is not an ordinary repository", at)
		}
		return g, nil
	}
}

var headLine = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^(ref: refs/[[:graph:]]+|[0-9a-f]{40})\n?$`) },
)

// workTree follows the file .git to the path that "git worktree add" uses, if that path
// points back. A file that points to another path would select another repository.
func workTree(at string) (Git, bool) {
	own, ok := strings.CutPrefix(strings.TrimSuffix(content(filepath.Join(at, ".git")), "\n"), "gitdir: ")
	common := filepath.Dir(filepath.Dir(own))
	back := strings.TrimSuffix(content(filepath.Join(own, "gitdir")), "\n")
	real, err := filepath.EvalSymlinks(own)
	return Git{at, own, common}, ok && err == nil && real == own && filepath.IsAbs(own) &&
		filepath.Base(filepath.Dir(own)) == "worktrees" &&
		content(filepath.Join(own, "commondir")) == "../..\n" && back == filepath.Join(at, ".git")
}

// content returns the content of a small file; empty if there is none.
func content(path string) string {
	data, size, err := disk.Read(path, 4<<10)
	if err != nil || size > int64(len(data)) {
		return ""
	}
	return string(data)
}

func exists(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

// maxEntries bounds the names in a repository that are checked.
const maxEntries = 50_000

// Check fails on a repository that could make git exceed its task: run a program, or leave
// the repository by links (git shows the content of some of its own files) or by objects of
// another repository. allowed are keys of configurations that have no effect on the task.
func (g Git) Check(allowed ...string) error {
	if err := g.checkConfig(allowed); err != nil {
		return err
	}
	if exists(g.Common, "objects/info/alternates") {
		return fmt.Errorf("%q has objects of another repository", g.Common)
	}
	objects, seen := filepath.Join(g.Common, "objects"), 0
	return filepath.WalkDir(g.Common, func(path string, entry fs.DirEntry, err error) error {
		if seen++; err != nil || seen > maxEntries {
			return fmt.Errorf("cannot look through %q", g.Common)
		}
		if !entry.IsDir() && !entry.Type().IsRegular() {
			return fmt.Errorf("%q is no ordinary file", path)
		}
		loose := filepath.Dir(path) == objects && len(entry.Name()) == 2 // the name is a hash of the content
		if entry.IsDir() && (loose || path == filepath.Join(g.Common, "lfs")) {
			return fs.SkipDir
		}
		return nil
	})
}

// Index is the content of a work tree's index.
type Index struct {
	Names      []string // names of files and submodules, with slashes, from Top
	Submodules bool
}

// Index reads the index in versions 2 and 3 of its format (gitformat-index). Without an
// index it is empty.
func (g Git) Index() (Index, error) {
	var x Index
	path := filepath.Join(g.Own, "index")
	data, size, err := disk.Read(path, maxIndex)
	if os.IsNotExist(err) {
		return x, nil
	}
	if err != nil {
		return x, err
	}
	unknown := fmt.Errorf("the index of %q is of a kind that is not known", g.Own)
	if len(data) < 12 || size > int64(len(data)) || string(data[:4]) != "DIRC" ||
		binary.BigEndian.Uint32(data[4:])&^1 != 2 {
		return x, unknown
	}
	rest := data[12:]
	for range binary.BigEndian.Uint32(data[8:]) {
		if len(rest) < 64 {
			return x, unknown
		}
		switch binary.BigEndian.Uint32(rest[24:]) >> 12 { // git also masks the rest of the mode
		case 0o16: // a submodule
			x.Submodules = true
		case 0o10, 0o12: // a file, a link
		default:
			return x, unknown
		}
		start := 62
		if rest[60]&0x40 != 0 { // extended flags
			start += 2
		}
		size := int(binary.BigEndian.Uint16(rest[60:]) & 0xfff)
		end := bytes.IndexByte(rest[start:min(len(rest), start+5000)], 0)
		if end < 0 || min(end, 0xfff) != size {
			return x, unknown
		}
		x.Names = append(x.Names, string(rest[start:start+end]))
		if rest = rest[min(len(rest), (start+end+8)/8*8):]; len(rest) < hashSize {
			return x, unknown
		}
	}
	for len(rest) > hashSize { // extensions; the names of extensions that change the content are in lower case
		if len(rest) < 8+hashSize || rest[0] < 'A' || rest[0] > 'Z' {
			return x, unknown
		}
		rest = rest[min(len(rest), 8+int(binary.BigEndian.Uint32(rest[4:]))):]
	}
	if len(rest) != hashSize {
		return x, unknown
	}
	return x, nil
}

const hashSize = 20 // of SHA-1; other hashes are extensions of a repository
