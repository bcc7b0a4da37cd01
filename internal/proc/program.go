package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/disk"
)

// writableFolders are the folders that commands and file tools of this process's sessions
// can change. settle starts no program of its own from these folders.
type writableFolders struct {
	mu      sync.RWMutex
	folders map[string]bool // absolute, as named and without links
	odd     []string        // folders with a character of oddCharacters
}

// oddCharacters separate the words of a variable's value.
const oddCharacters = " \t\n;,=\"'|<>()&:"

// MarkWritable records folders that commands can change, absolute. From then on, settle
// finds no program there.
func MarkWritable(folders ...string) {
	w := &host.writable
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, folder := range folders {
		if !filepath.IsAbs(folder) {
			continue
		}
		folder = filepath.Clean(folder)
		real, err := filepath.EvalSymlinks(folder)
		if err != nil {
			real = folder
		}
		for _, path := range []string{folder, real} {
			if w.folders[folderKey(path)] {
				continue
			}
			if w.folders == nil {
				w.folders = map[string]bool{}
			}
			w.folders[folderKey(path)] = true
			if strings.ContainsAny(path, oddCharacters) {
				w.odd = append(w.odd, path)
			}
		}
	}
}

// folderKey is the key of a clean path: Windows does not tell upper from lower case.
func folderKey(path string) string {
	if runtime.GOOS == "windows" {
		return strings.ToLower(path)
	}
	return path
}

func (w *writableFolders) count() int {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return len(w.folders)
}

// contains reports whether one of the folders contains a path. A host has thousands of folders
// and asks for thousands of paths: the path's own folders are looked up.
func (w *writableFolders) contains(path string) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if path == "" || len(w.folders) == 0 {
		return false
	}
	for at := folderKey(filepath.Clean(path)); ; {
		if w.folders[at] {
			return true
		}
		above := filepath.Dir(at)
		if above == at || above == "." {
			return false
		}
		at = above
	}
}

// changeable reports whether commands can change the file at a path: the path, or a link that it
// leads through, is in a folder that they can change.
func changeable(path string) bool {
	list, err := visited(path)
	return err != nil || slices.ContainsFunc(list, host.writable.contains)
}

// maxLinks bounds the links of a path, as the kernel does.
const maxLinks = 40

// visited returns the paths that an absolute path stands for, link by link.
func visited(path string) (list []string, err error) {
	for range maxLinks {
		list = append(list, path)
		link, target := firstLink(path)
		if link == "" {
			return list, nil
		}
		path = filepath.Join(disk.AbsoluteIn(filepath.Dir(link), target), path[len(link):])
	}
	return nil, fmt.Errorf("%q leads through more than %d links", list[0], maxLinks)
}

// firstLink returns the shortest prefix of a path that is a symbolic link, and its target.
func firstLink(path string) (link, target string) {
	for end := range len(path) + 1 {
		if end == 0 || end < len(path) && !os.IsPathSeparator(path[end]) {
			continue
		}
		if target, err := os.Readlink(path[:end]); err == nil {
			return path[:end], target
		}
	}
	return "", ""
}

// trustedFolder reports whether settle searches a folder of PATH for its own programs.
func trustedFolder(folder string) bool {
	return filepath.IsAbs(folder) && !changeable(filepath.Clean(folder)) &&
		!slices.Contains([]string{"/tmp", "/var/tmp", "/dev/shm", filepath.Clean(os.TempDir())}, filepath.Clean(folder))
}

// TrustedPath returns a value of PATH without relative folders, temporary directories, and
// folders that commands can change. A folder with a link to a program that commands can change
// is replaced by a private folder with the other programs.
func TrustedPath(path string) string {
	var folders []string
	for _, folder := range filepath.SplitList(path) {
		if !trustedFolder(folder) {
			continue
		}
		if folder = host.shadows.of(folder); folder != "" {
			folders = append(folders, folder)
		}
	}
	return strings.Join(folders, string(os.PathListSeparator))
}

// FindProgram finds a program that settle starts for itself: in the folders of a PATH that
// commands cannot change. A name with a separator is a path, and stays as it is.
func FindProgram(name, path string) (string, error) {
	if filepath.Base(name) != name {
		return exec.LookPath(name)
	}
	var refused string
	for _, folder := range filepath.SplitList(path) {
		if folder == "" {
			continue
		}
		file, err := exec.LookPath(filepath.Join(folder, name))
		switch {
		case err != nil:
		case trustedFolder(folder) && !changeable(filepath.Clean(file)):
			return file, nil
		case refused == "":
			refused = file
		}
	}
	if refused != "" {
		return "", fmt.Errorf(
			"cannot start %q: PATH has only %q, and commands can change that file; install the program elsewhere, or name it by its absolute path",
			name,
			refused,
		)
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// ChangeableProgram returns the file that a shell runs for a name, if commands can change
// the file; else "". It shadows another program if PATH also has the name in a folder that
// commands cannot change.
func ChangeableProgram(name, path string) (file string, shadows bool) {
	if name == "" || filepath.Base(name) != name {
		return "", false
	}
	for _, folder := range filepath.SplitList(path) {
		file, err := exec.LookPath(filepath.Join(folder, name))
		switch {
		case err != nil && !errors.Is(err, exec.ErrDot):
		case trustedFolder(folder) && !changeable(filepath.Clean(file)):
			return "", false
		default:
			_, err := FindProgram(name, path)
			return file, err == nil
		}
	}
	return "", false
}

// program finds the program of a Spec. A sandboxed command can be a program that commands can
// change; a program outside of the sandbox cannot, unless its caller named the file.
func (s Spec) program() (string, error) {
	if s.Sandbox != nil {
		return exec.LookPath(s.Argv[0])
	}
	return FindProgram(s.Argv[0], os.Getenv("PATH"))
}
