package proc

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/disk"
)

// shadowFolders stand for folders of PATH in which a link leads to a program that commands can
// change, as "npm link" makes it. A shadow has links to all other programs of its folder.
type shadowFolders struct {
	mu      sync.Mutex // guards the fields below
	known   map[string]shadowFolder
	scratch *disk.Scratch
	made    int
}

// shadowFolder is the replacement of a folder. If path is empty, the folder is left out.
type shadowFolder struct {
	modified time.Time // of the folder, when it was read
	marked   int       // how many folders were marked as writable then
	kept     linkTargets
	path     string
}

// linkTargets are the targets of links to programs that commands cannot change.
type linkTargets struct {
	folders map[string]time.Time // that they lead through, and when each was modified
	files   []string
}

// holds reports whether a folder that was read is still right, although more folders are
// writable now.
func (f shadowFolder) holds(now time.Time, marked int) bool {
	if !f.modified.Equal(now) {
		return false
	}
	if f.marked == marked {
		return true
	}
	for dir, then := range f.kept.folders {
		if !modified(dir).Equal(then) || host.writable.contains(dir) {
			return false
		}
	}
	return !slices.ContainsFunc(f.kept.files, host.writable.contains)
}

// modified returns when a folder was modified, and the zero time for one that is not there.
func modified(dir string) time.Time {
	info, err := os.Stat(dir)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// of returns the folder that a program outside of the sandbox has in its PATH for a trusted one:
// the same, its shadow, or "" if no shadow can be made.
func (s *shadowFolders) of(folder string) string {
	info, err := os.Stat(folder)
	marked := host.writable.count()
	if err != nil || marked == 0 {
		return folder
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.known[folder]
	if ok && known.holds(info.ModTime(), marked) {
		known.marked = marked
		s.known[folder] = known
		return known.path
	}
	hidden, programs, kept := linkedPrograms(folder)
	known = shadowFolder{info.ModTime(), marked, kept, folder}
	if len(hidden) > 0 {
		known.path = s.make(folder, programs)
	}
	if s.known == nil {
		s.known = map[string]shadowFolder{}
	}
	s.known[folder] = known
	return known.path
}

// linkedPrograms returns the names in a folder. changeable are the links through which commands
// decide which program runs. others are all other names, and kept has the targets of the links
// among them.
func linkedPrograms(folder string) (changeable, others []string, kept linkTargets) {
	entries, _ := os.ReadDir(folder) // a folder that cannot be listed: only programs with a known name run
	kept.folders = map[string]time.Time{}
	var dirs []string
	w := disk.Walk{Visit: func(dir string) { dirs = append(dirs, dir) }}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		dirs = dirs[:0]
		if e.Type()&fs.ModeSymlink != 0 {
			real, err := w.Resolve(filepath.Join(folder, e.Name()))
			if err != nil || host.writable.contains(real) || slices.ContainsFunc(dirs, host.writable.contains) {
				changeable = append(changeable, e.Name())
				continue
			}
			kept.files = append(kept.files, real)
		}
		others = append(others, e.Name())
		for _, dir := range dirs {
			if _, seen := kept.folders[dir]; !seen {
				kept.folders[dir] = modified(dir)
			}
		}
	}
	return changeable, others, kept
}

// make makes the shadow of a folder with some programs; "" if that fails. The lock is held.
func (s *shadowFolders) make(folder string, programs []string) string {
	if s.scratch == nil {
		made, err := disk.NewScratch("programs")
		if err != nil {
			return ""
		}
		s.scratch = made
	}
	s.made++
	path := filepath.Join(s.scratch.Path, strconv.Itoa(s.made))
	if changeable(path) || os.Mkdir(path, 0o700) != nil {
		return ""
	}
	for _, name := range programs {
		if os.Symlink(filepath.Join(folder, name), filepath.Join(path, name)) != nil {
			return ""
		}
	}
	return path
}

// RemoveShadows removes the private folders that this process made for the PATH of its
// programs, at its end. If it is killed, a later process removes them.
func RemoveShadows() error {
	s := &host.shadows
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scratch == nil {
		return nil
	}
	err := s.scratch.Remove()
	s.scratch, s.known = nil, nil
	return err
}
