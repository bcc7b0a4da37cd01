package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/settle-agent/settle/internal/disk"
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

// SecretFiles finds the files and folders whose names indicate secrets. A file that it has found
// once stays secret: a command can rename the folders above a file, but not the file itself. It
// caches unchanged folders. It is safe for concurrent use.
type SecretFiles struct {
	mu      sync.Mutex // guards the fields below
	known   map[string]listing
	hidden  map[identity]secretKind // the files and folders found so far
	order   []identity              // of hidden, oldest first
	folders bool                    // one of them is a folder
	path    string                  // of the record; "" for none
	log     *slog.Logger            // may be nil
}

// secretKind describes the secret part of a file.
type secretKind struct {
	config bool // the credentials of a git configuration, not the whole file
}

// listing is the relevant content of a folder.
type listing struct {
	stamp   stamp  // zero if the listing is not cached
	seen    stamp  // before the listing
	rel     string // below its root
	entries int
	folders []string // folders to search
	secrets []string // secret files and folders
	hidden  []string // files and folders that were found before, under any name
	links   []string // links with secret names
	configs []string // git configurations
}

// TooManyError: the search did not cover all files.
type TooManyError struct{ What string }

func (e *TooManyError) Error() string { return "cannot find the files with secrets: " + e.What }

// Below returns the secret files below folders, absolute and without links: files with a secret
// name, targets of links with a secret name, git configurations with credentials (see Contents),
// and files that were found before. It leaves out granted paths, except paths of files that were
// found before. granted can be nil.
func (s *SecretFiles) Below(granted func(path string) bool, roots ...string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var moved *movedError
	for range maxRestarts {
		found, err := s.search(granted, roots)
		if !errors.As(err, &moved) {
			return found, err
		}
	}
	return nil, fmt.Errorf(
		"cannot find the files with secrets: %w; nothing ran: wait for what moves it, or end that job", moved,
	)
}

// Secret reports whether a file is secret by its path, because it is a git configuration
// with credentials, or because it or a folder above it was found before.
func (s *SecretFiles) Secret(path string) bool {
	if Secret(path) || credentials(path) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.found(path)
	for s.folders && !found && path != filepath.Dir(path) {
		path = filepath.Dir(path)
		found = s.found(path)
	}
	return found
}

// remember records found files and folders, by name or by the link that leads to them.
func (s *SecretFiles) remember(paths []string, config bool) error {
	changed := false
	defer func() {
		if changed {
			s.write()
		}
	}()
	for _, path := range paths {
		id, err := identityOf(path)
		if errors.Is(err, errNoIdentity) {
			return nil
		}
		if err != nil {
			return &movedError{path}
		}
		if !s.add(id, secretKind{config}) {
			continue
		}
		changed = true
		delete(s.known, filepath.Dir(path)) // a link can have led to it
	}
	return nil
}

// movedError reports that a folder moved or changed during the search, so that the search
// could have missed a file.
type movedError struct{ path string }

func (e *movedError) Error() string {
	return fmt.Sprintf("the folder %q moves or changes all the time", e.path)
}

// search searches once. It finishes with a look at each folder: one that has moved to a
// place that was searched before would be missed.
func (s *SecretFiles) search(granted func(string) bool, roots []string) ([]string, error) {
	search := search{of: s, granted: granted, next: map[string]listing{}}
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
	if err := s.remember(search.byName, false); err != nil {
		return nil, err
	}
	if err := s.remember(search.configs, true); err != nil {
		return nil, err
	}
	found := slices.Concat(search.found, search.byName, search.configs)
	slices.Sort(found)
	return slices.Compact(found), nil
}

// search is one search.
type search struct {
	of       *SecretFiles
	granted  func(path string) bool
	roots    []string
	next     map[string]listing
	searched int
	byName   []string // found by the names, and not granted
	configs  []string // git configurations with credentials
	found    []string // others
}

// add adds a file or folder with a secret name.
func (s *search) add(path string) {
	if s.granted == nil || !s.granted(path) || s.of.found(path) {
		s.byName = append(s.byName, path)
	}
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
		s.add(filepath.Join(path, name))
	}
	for _, name := range l.hidden {
		s.found = append(s.found, filepath.Join(path, name))
	}
	for _, name := range l.links {
		if real, err := filepath.EvalSymlinks(filepath.Join(path, name)); err == nil &&
			slices.ContainsFunc(s.roots, func(root string) bool { return real != root && disk.Within(root, real) }) {
			s.add(real)
		}
	}
	for _, name := range l.configs {
		if real, err := filepath.EvalSymlinks(filepath.Join(path, name)); err == nil && disk.WithinAny(s.roots, real) {
			s.addConfig(real)
		}
	}
	if len(s.found)+len(s.byName)+len(s.configs) > maxHidden {
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
	if known, ok := s.of.known[path]; ok && known.stamp == before && before != (stamp{}) && !s.leadsToRoot(path) {
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
		second, err := s.read(path, l.rel, now, age)
		if err != nil || !second.sameAs(l) {
			return &movedError{path}
		}
	}
	return nil
}

// sameAs reports whether two listings are of the same folder and lead the search to the
// same places.
func (l listing) sameAs(m listing) bool {
	return l.seen.sameFolder(m.seen) && slices.Equal(l.folders, m.folders) &&
		slices.Equal(l.secrets, m.secrets) && slices.Equal(l.hidden, m.hidden) &&
		slices.Equal(l.links, m.links) && slices.Equal(l.configs, m.configs)
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
	if age > racyDelay && !s.leadsToRoot(path) {
		l.stamp = before
	}
	root := strings.TrimSuffix(path, rel)
	named := !isStorage(filepath.Join(filepath.Base(root), rel))
	repository := slices.ContainsFunc(entries, func(entry fs.DirEntry) bool { return isGitFolder(entry.Name()) })
	for _, entry := range entries {
		name := entry.Name()
		if repository && named && isConfigName(name) && !entry.IsDir() {
			l.configs = append(l.configs, name)
		}
		at := filepath.ToSlash(filepath.Join(rel, name))
		switch {
		case entry.Type()&fs.ModeSymlink != 0:
			if named && (Secret(at) || secretFolder(at)) {
				l.links = append(l.links, name)
			}
		case named && (Secret(at) && !entry.IsDir() || entry.IsDir() && secretFolder(at)) &&
			!s.holdsRoot(filepath.Join(path, name)):
			l.secrets = append(l.secrets, name)
		case s.of.found(filepath.Join(path, name)) && !s.holdsRoot(filepath.Join(path, name)):
			l.hidden = append(l.hidden, name)
		case entry.IsDir():
			l.folders = append(l.folders, name)
		}
	}
	return l, nil
}

// isStorage reports whether a folder is one in which git names the files after branches and
// objects: the names say nothing about the content.
func isStorage(rel string) bool {
	_, inGit, found := strings.Cut("/"+filepath.ToSlash(rel)+"/", "/.git/")
	return found && slices.ContainsFunc(strings.Split(inGit, "/"),
		func(name string) bool { return name == "refs" || name == "logs" || name == "objects" })
}

// found reports whether a file or folder was found before.
func (s *SecretFiles) found(path string) bool {
	if len(s.hidden) == 0 {
		return false
	}
	id, err := identityOf(path)
	_, found := s.hidden[id]
	return err == nil && found
}

// holdsRoot reports whether one of the searched folders is the path or below it.
func (s *search) holdsRoot(path string) bool {
	return slices.ContainsFunc(s.roots, func(root string) bool { return disk.Within(path, root) })
}

// leadsToRoot reports whether a searched folder is below the path. The secrets in such a folder
// depend on the roots, so that no other search can use its listing.
func (s *search) leadsToRoot(path string) bool {
	return slices.ContainsFunc(s.roots, func(root string) bool { return root != path && disk.Within(path, root) })
}

// secretFolder reports whether everything in a folder is secret.
func secretFolder(name string) bool { return Secret(name + "/any") }
