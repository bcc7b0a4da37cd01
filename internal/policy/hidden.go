package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	// maxSearched bounds the files of a search for secrets, and maxHidden its results.
	maxSearched = 2_000_000
	maxHidden   = 2000
	// racyDelay is the minimum age of a folder's last change for a cached listing: clocks
	// of file systems are coarse.
	racyDelay = 100 * time.Millisecond
	// maxRestarts bounds the searches in a tree whose folders move meanwhile.
	maxRestarts = 40
)

// SecretFiles finds the files and folders whose names indicate secrets. It caches unchanged
// folders. It is safe for concurrent use.
type SecretFiles struct {
	mu    sync.Mutex // guards the fields below
	known map[string]listing
}

// listing is the relevant content of a folder.
type listing struct {
	stamp   stamp  // zero if the folder had changed within racyDelay
	seen    stamp  // before the listing
	rel     string // below its root
	entries int
	folders []string // folders to search
	secrets []string // secret files and folders
	links   []string // links with secret names
}

// TooManyError: the search did not cover all files.
type TooManyError struct{ What string }

func (e *TooManyError) Error() string { return "cannot find the files with secrets: " + e.What }

// Below returns the secret files below folders, absolute and without links: files with a
// secret name, and targets of links with a secret name.
func (s *SecretFiles) Below(roots ...string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var moved *movedError
	for range maxRestarts {
		found, err := s.search(roots)
		if !errors.As(err, &moved) {
			return found, err
		}
	}
	return nil, fmt.Errorf(
		"cannot find the files with secrets: %w; nothing ran: wait for what moves it, or end that job", moved,
	)
}

// movedError reports that a folder moved or changed during the search, so that the search
// could have missed a file.
type movedError struct{ path string }

func (e *movedError) Error() string {
	return fmt.Sprintf("the folder %q moves or changes all the time", e.path)
}

// search searches once. It finishes with a look at each folder: one that has moved to a
// place that was searched before would be missed.
func (s *SecretFiles) search(roots []string) ([]string, error) {
	search := search{of: s, next: map[string]listing{}}
	for _, root := range roots {
		real, err := filepath.EvalSymlinks(root)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot find the files with secrets: %w", err)
		}
		search.roots = append(search.roots, real)
	}
	for _, root := range search.roots {
		if err := search.folder(root, ""); err != nil {
			return nil, err
		}
	}
	if err := search.verify(); err != nil {
		return nil, err
	}
	s.known = search.next
	slices.Sort(search.found)
	return slices.Compact(search.found), nil
}

// search is one search.
type search struct {
	of       *SecretFiles
	roots    []string
	next     map[string]listing
	searched int
	found    []string
}

// folder searches a folder below a root.
func (s *search) folder(root, rel string) error {
	path := filepath.Join(root, rel)
	if _, done := s.next[path]; done {
		return nil
	}
	l, err := s.list(path, rel)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return &movedError{path} // the folder above it had it
	case errors.Is(err, fs.ErrPermission) && rel != "" && !s.holdsRoot(path):
		s.found = append(s.found, path) // a command of the same user can take the right to list it
		return nil
	case err != nil:
		return fmt.Errorf("cannot find the files with secrets: %w", err)
	}
	s.next[path] = l
	if s.searched += l.entries; s.searched > maxSearched {
		return &TooManyError{fmt.Sprintf("there are more than %d files below %s", maxSearched, root)}
	}
	for _, name := range l.secrets {
		s.found = append(s.found, filepath.Join(path, name))
	}
	for _, name := range l.links {
		if real, err := filepath.EvalSymlinks(filepath.Join(path, name)); err == nil &&
			slices.ContainsFunc(s.roots, func(root string) bool { return real != root && within(root, real) }) {
			s.found = append(s.found, real)
		}
	}
	if len(s.found) > maxHidden {
		return &TooManyError{fmt.Sprintf("there are more than %d files with names of secrets below %s", maxHidden,
			root)}
	}
	for _, name := range l.folders {
		if err := s.folder(root, filepath.Join(rel, name)); err != nil {
			return err
		}
	}
	return nil
}

// list returns the listing of a folder, from the cache if the folder is unchanged.
func (s *search) list(path, rel string) (listing, error) {
	before, age, err := stampOf(path)
	if err != nil {
		return listing{}, err
	}
	if known, ok := s.of.known[path]; ok && known.stamp == before && before != (stamp{}) {
		return known, nil
	}
	return s.read(path, rel, before, age)
}

// verify returns an error if a folder has other folders or secrets than the search saw.
func (s *search) verify() error {
	for path, l := range s.next {
		now, age, err := stampOf(path)
		if err != nil {
			return &movedError{path}
		}
		if now == l.seen && l.stamp != (stamp{}) {
			continue
		}
		again, err := s.read(path, l.rel, now, age)
		if err != nil || !again.sameAs(l) {
			return &movedError{path}
		}
	}
	return nil
}

// sameAs reports whether two listings are of the same folder and lead the search to the
// same places.
func (l listing) sameAs(other listing) bool {
	return l.seen.sameFolder(other.seen) && slices.Equal(l.folders, other.folders) &&
		slices.Equal(l.secrets, other.secrets) && slices.Equal(l.links, other.links)
}

// read lists a folder.
func (s *search) read(path, rel string, before stamp, age time.Duration) (listing, error) {
	entries, err := os.ReadDir(path)
	if err == nil { // the right to list is not the right to enter
		_, err = os.Lstat(path + string(filepath.Separator) + ".")
	}
	if err != nil {
		return listing{}, err
	}
	l := listing{entries: len(entries), rel: rel, seen: before}
	if age > racyDelay {
		l.stamp = before
	}
	inGit := filepath.Base(path) == ".git" // git's own files can have secrets; its branches and objects cannot
	for _, entry := range entries {
		name := entry.Name()
		at := filepath.ToSlash(filepath.Join(rel, name))
		switch {
		case entry.Type()&fs.ModeSymlink != 0:
			if Secret(at) || secretFolder(at) {
				l.links = append(l.links, name)
			}
		case entry.IsDir() && secretFolder(at) && !s.holdsRoot(filepath.Join(path, name)), !entry.IsDir() && Secret(at):
			l.secrets = append(l.secrets, name)
		case entry.IsDir() && !inGit:
			l.folders = append(l.folders, name)
		}
	}
	return l, nil
}

// holdsRoot reports whether one of the searched folders is the path or below it.
func (s *search) holdsRoot(path string) bool {
	return slices.ContainsFunc(s.roots, func(root string) bool { return within(path, root) })
}

// secretFolder reports whether everything in a folder is secret.
func secretFolder(name string) bool { return Secret(name + "/any") }
