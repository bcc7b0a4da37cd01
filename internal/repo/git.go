package repo

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxIndex bounds what is read of an index.
const maxIndex = 64 << 20

// Git is where git keeps a repository; the zero value is none.
type Git struct {
	// Top is the root of the work tree, Own the directory of this work tree,
	// and Common the one that it shares with others.
	Top, Own, Common string
}

// FindGit returns the repository that git finds from dir, an absolute path
// without links. It fails on what git might take for one and is not an
// ordinary one, such as a repository without a work tree.
func FindGit(dir string) (Git, error) {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		own := filepath.Join(at, ".git")
		if _, err := os.Lstat(own); err != nil {
			if isGitDir(at) {
				return Git{}, fmt.Errorf("%q looks like a repository without a work tree", at)
			}
			if at == filepath.Dir(at) {
				return Git{}, nil
			}
			continue
		}
		if text, err := pointer(own); err == nil { // a work tree's, or a submodule's
			own = joined(at, strings.TrimPrefix(text, "gitdir:"))
		}
		common := own
		if text, err := pointer(filepath.Join(own, "commondir")); err == nil {
			common = joined(own, text)
		}
		if _, err := os.Stat(filepath.Join(own, "HEAD")); err != nil || !isGitDir(common) {
			return Git{}, fmt.Errorf("%q is not an ordinary repository", at)
		}
		return Git{at, own, common}, nil
	}
}

// pointer reads a file that has the name of a directory.
func pointer(path string) (string, error) {
	data, _, err := ReadFile(path, 4<<10)
	return string(data), err
}

func joined(dir, path string) string {
	if path = strings.TrimSpace(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// Index is what is in the index of a work tree.
type Index struct {
	Names      []string // of files and submodules, with slashes, from Top
	Submodules bool
}

// Index reads the index as git's documentation of its format has it
// (gitformat-index), in versions 2 and 3. Without one it is empty.
func (g Git) Index() (Index, error) {
	var x Index
	file, err := os.Open(filepath.Join(g.Own, "index"))
	if os.IsNotExist(err) {
		return x, nil
	}
	if err != nil {
		return x, err
	}
	defer func() { _ = file.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(file, maxIndex))
	if err != nil {
		return x, err
	}
	unknown := fmt.Errorf("the index of %q is of a kind that is not known", g.Own)
	if len(data) < 12 || len(data) == maxIndex || string(data[:4]) != "DIRC" || data[7] != 2 && data[7] != 3 {
		return x, unknown
	}
	count := int(data[8])<<24 | int(data[9])<<16 | int(data[10])<<8 | int(data[11])
	rest := data[12:]
	for range count {
		if len(rest) < 64 {
			return x, unknown
		}
		x.Submodules = x.Submodules || rest[26] == 0xe0 // mode 160000
		start := 62
		if rest[60]&0x40 != 0 { // extended flags
			start += 2
		}
		end := bytes.IndexByte(rest[start:min(len(rest), start+5000)], 0)
		if end < 0 {
			return x, unknown
		}
		x.Names = append(x.Names, string(rest[start:start+end]))
		if rest = rest[min(len(rest), (start+end+8)/8*8):]; len(rest) < 20 {
			return x, unknown
		}
	}
	if strings.HasPrefix(string(rest), "link") { // a part of it is elsewhere
		return x, unknown
	}
	return x, nil
}
