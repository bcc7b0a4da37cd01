package plugin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/disk"
)

// Record is a plugin that the user has added.
type Record struct {
	Name string `json:"name"`
	// Source is an absolute directory, or the address of a git repository.
	Source string `json:"source"`
	// Git reports that Source is a repository. Ref is the branch, tag or commit that updates
	// follow, "" for the default branch, and Commit is the commit of the copy.
	Git    bool   `json:"git,omitempty"`
	Ref    string `json:"ref,omitempty"`
	Commit string `json:"commit,omitempty"`
	// Path is the plugin's folder within the source, with slashes; "" for all of it.
	Path string `json:"path,omitempty"`
	// Digest is the digest that the user trusts.
	Digest string `json:"digest"`
	// Omitted are entries of the source that were not copied, in words.
	Omitted  []string  `json:"omitted,omitempty"`
	Disabled bool      `json:"disabled,omitempty"`
	Added    time.Time `json:"added"`
}

// SameSource reports whether updates of two records follow the same place.
func (r Record) SameSource(next Record) bool {
	return r.Source == next.Source && r.Git == next.Git && r.Ref == next.Ref && r.Path == next.Path
}

// Plugin is an added plugin with its parts.
type Plugin struct {
	Record

	// Parts are its parts; empty with a Problem.
	Parts Manifest
	// Root is the copy that sessions use, and Data the plugin's own writable folder;
	// absolute.
	Root, Data string
	// Problem states why no session uses the plugin; "" for a usable one.
	Problem string
	// Drift are the files in which the source directory differs from the trusted copy.
	Drift []string

	store  Store
	sums   map[string][sha256.Size]byte
	copied bool // Stage wrote the copy, and did not find it
}

// Used reports whether sessions use the plugin.
func (p *Plugin) Used() bool { return p.Problem == "" && !p.Disabled }

// State is the state of the plugin in a word: ok, changed, disabled or unusable.
func (p *Plugin) State() string {
	switch {
	case p.Disabled:
		return "disabled"
	case p.Problem != "":
		return "unusable"
	case len(p.Drift) > 0:
		return "changed"
	}
	return "ok"
}

// Store has the plugins of a data directory. The zero value has none.
type Store struct{ dir string }

// NewStore returns the store of a data directory; "" has no plugins.
func NewStore(dataDir string) Store {
	if dataDir == "" {
		return Store{}
	}
	return Store{filepath.Join(dataDir, "plugins")}
}

const maxRecords = 1 << 20 // bytes of the file with the records

func (s Store) file() string { return filepath.Join(s.dir, "plugins.json") }

// Dir returns the directory of the store.
func (s Store) Dir() string { return s.dir }

// DataOf returns the writable folder of a plugin.
func (s Store) DataOf(name string) string { return filepath.Join(s.dir, "data", name) }

// rootOf returns the folder of the copy with the digest.
func (s Store) rootOf(name, digest string) string {
	short := strings.TrimPrefix(digest, digestPrefix)
	return filepath.Join(s.dir, "trees", name, short[:min(len(short), 16)])
}

var validName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,47}$`) })

// CheckName rejects a name that cannot be the name of a plugin.
func CheckName(name string) error {
	if !validName().MatchString(name) {
		return fmt.Errorf("the name %.60q is not of 1 to 48 small letters, digits and -", name)
	}
	return nil
}

var validDigest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^sha256:[0-9a-f]{64}$`) })

// Records returns the added plugins, by name. It does not check the copies.
func (s Store) Records() ([]Record, error) {
	if s.dir == "" {
		return nil, nil
	}
	data, size, err := disk.Read(s.file(), maxRecords)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && size > maxRecords {
		err = fmt.Errorf("it has more than %d bytes", maxRecords)
	}
	var file struct {
		Plugins []Record `json:"plugins"`
	}
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the plugins in %q: %w", s.file(), err)
	}
	seen := map[string]bool{}
	for _, r := range file.Plugins {
		if err := CheckName(r.Name); err != nil || !validDigest().MatchString(r.Digest) || seen[r.Name] {
			return nil, fmt.Errorf("cannot read the plugins in %q: an entry (%.60q) is not valid", s.file(), r.Name)
		}
		seen[r.Name] = true
	}
	slices.SortFunc(file.Plugins, func(a, b Record) int { return cmp.Compare(a.Name, b.Name) })
	return file.Plugins, nil
}

// List returns the plugins with their parts, by name. It checks each copy, and compares it
// with a source that is a directory.
func (s Store) List() ([]Plugin, error) {
	records, err := s.Records()
	list := make([]Plugin, 0, len(records))
	for _, r := range records {
		list = append(list, s.Open(r))
	}
	return list, err
}

// isMeta reports whether the content of a file has parts of a plugin.
func isMeta(name string) bool { return strings.HasSuffix(name, ".json") }

// Open checks the copy of a record and finds its parts. A plugin that cannot be used has a
// Problem.
func (s Store) Open(r Record) Plugin {
	p := Plugin{Record: r, Root: s.rootOf(r.Name, r.Digest), Data: s.DataOf(r.Name), store: s}
	tree, err := p.verify(isMeta)
	if err == nil {
		p.sums = map[string][sha256.Size]byte{}
		for _, f := range tree.Files {
			p.sums[f.Path] = f.Sum
		}
		p.Parts, err = Parse(tree, r.Name)
		p.Parts.Ignored = append(p.Parts.Ignored, r.Omitted...)
	}
	if err != nil {
		p.Problem = err.Error()
		return p
	}
	if !r.Git {
		p.Drift = p.drift(tree)
	}
	return p
}

// verify reads the copy, and fails if it does not have the trusted digest.
func (p *Plugin) verify(keep func(string) bool) (Tree, error) {
	tree, err := ReadDir(p.Root, keep)
	if err != nil {
		return Tree{}, fmt.Errorf("its copy cannot be read: %w", err)
	}
	if tree.Digest() == p.Digest && len(tree.Omitted) == 0 {
		return tree, nil
	}
	trusted, _, err := disk.Read(p.Root+listSuffix, maxList)
	if err != nil || digestOf(string(trusted)) != p.Digest {
		return Tree{}, errors.New("its copy is not what you trusted")
	}
	return Tree{}, fmt.Errorf("its copy is not what you trusted: %s",
		some(append(Changes(string(trusted), tree.List()), tree.Omitted...)))
}

// Former returns an unusable plugin with its trusted hooks, as the changed copy has them. isKnown
// is false if the copy can have others: its manifest or a file of hooks has changed.
func (p *Plugin) Former() (former Plugin, isKnown bool) {
	former = *p
	tree, err := ReadDir(p.Root, isMeta)
	if err != nil {
		return former, false
	}
	trusted := p.store.Trusted(p.Record)
	if trusted == "" {
		return former, false
	}
	former.Parts.Hooks, err = formerHooks(tree, trusted)
	return former, err == nil
}

// drift returns the files in which the source differs from the copy.
func (p *Plugin) drift(copied Tree) []string {
	tree, err := ReadFolder(p.Source, p.Path, nil)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []string{"removed: the directory"}
	case err != nil:
		return []string{err.Error()}
	}
	return Changes(copied.List(), tree.List())
}

const (
	maxShown   = 5
	maxOmitted = 50
)

// some joins the first parts of a list.
func some(list []string) string {
	if len(list) > maxShown {
		list = append(slices.Clone(list[:maxShown]), fmt.Sprintf("and %d more", len(list)-maxShown))
	}
	return strings.Join(list, ", ")
}

// Drifted describes the drift in one line.
func (p *Plugin) Drifted() string { return some(p.Drift) }

// Remedy returns advice on how to use the plugin again. It reads the records: an open session can
// have a version that the user has removed or replaced.
func (p *Plugin) Remedy() string {
	records, err := p.store.Records()
	if err == nil && !slices.ContainsFunc(records, p.is) {
		return "it was removed or replaced; open the session again: settle resume ID"
	}
	return "to see it and trust it again: settle plugins update " + p.Name
}

// Check returns an error if the copy does not have the digest with which the plugin was opened,
// for example because the plugin was removed. It returns nil for a plugin that was disabled or
// updated since, while its copy is there.
func (p *Plugin) Check() error {
	if _, err := p.verify(nil); err != nil {
		return fmt.Errorf("the plugin %q is not used any more: %w; %s", p.Name, err, p.Remedy())
	}
	return nil
}

// CheckFile returns an error if the content of a file of the copy is not the trusted one.
func (p *Plugin) CheckFile(name string, data []byte) error {
	rel, err := filepath.Rel(p.Root, name)
	if sum, known := p.sums[filepath.ToSlash(rel)]; err != nil || !known || sum != sha256.Sum256(data) {
		return fmt.Errorf("a file of the plugin %q is not what you trusted; %s", p.Name, p.Remedy())
	}
	return nil
}

// List of the trusted files beside a copy.
const (
	listSuffix = ".files"
	maxList    = 8 << 20
)

// Trusted returns the list of the trusted files of a plugin; "" if it is not kept.
func (s Store) Trusted(r Record) string {
	list, _, err := disk.Read(s.rootOf(r.Name, r.Digest)+listSuffix, maxList)
	if err != nil || digestOf(string(list)) != r.Digest {
		return ""
	}
	return string(list)
}

// Stage writes a copy of a tree, whose content must be kept, or returns a copy that is there.
// Nothing uses the copy until Record records its digest.
func (s Store) Stage(ctx context.Context, r Record, t Tree) (Plugin, error) {
	t.sort()
	r.Digest, r.Omitted = t.Digest(), t.Omitted
	if n := len(r.Omitted); n > maxOmitted {
		left := fmt.Sprintf("%d more entries that are no files", n-maxOmitted)
		r.Omitted = append(slices.Clone(r.Omitted[:maxOmitted]), left)
	}
	var p Plugin
	err := s.locked(ctx, func() error {
		if p = s.Open(r); p.Problem == "" && s.Trusted(r) != "" {
			s.touch(r) // Prune keeps it while the user decides
			return nil
		}
		if err := s.copy(r, t); err != nil {
			return err
		}
		if p = s.Open(r); p.Problem != "" {
			return errors.Join(errors.New(p.Problem), s.removeCopy(r))
		}
		p.copied = true
		return nil
	})
	return p, err
}

// copy writes the copy of a tree with its list of files.
func (s Store) copy(r Record, t Tree) error {
	root := s.rootOf(r.Name, r.Digest)
	if err := os.MkdirAll(filepath.Dir(root), 0o700); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(filepath.Dir(root), ".new-")
	if err != nil {
		return err
	}
	if err = write(temporary, t); err == nil {
		err = errors.Join(removeTree(root), os.Rename(temporary, root))
	}
	if err != nil {
		return errors.Join(err, removeTree(temporary))
	}
	return errors.Join(disk.Replace(root+listSuffix, []byte(t.List())), chmodTree(root, 0o500))
}

// touch starts the age of a copy, which Prune compares; a missing copy has none.
func (s Store) touch(r Record) {
	root, now := s.rootOf(r.Name, r.Digest), time.Now()
	_ = os.Chtimes(root, now, now)
	_ = os.Chtimes(root+listSuffix, now, now)
}

// write writes the files of a tree below an empty folder, with the mode 0400 or 0500.
func write(dir string, t Tree) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // each file is closed with its error
	for _, f := range t.Files {
		name := filepath.FromSlash(f.Path)
		if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		mode := fs.FileMode(0o400)
		if f.Program {
			mode = 0o500
		}
		file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if err != nil {
			return err
		}
		_, err = file.Write(f.Data)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// chmodTree sets the mode of all folders of a tree.
func chmodTree(dir string, mode fs.FileMode) error {
	var dirs []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, name)
			if mode&0o200 != 0 {
				return os.Chmod(name, mode) // before its entries are read
			}
		}
		return err
	})
	for _, name := range slices.Backward(dirs) {
		err = errors.Join(err, os.Chmod(name, mode))
	}
	return err
}

// removeTree removes a copy, whose folders are read-only.
func removeTree(dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_ = chmodTree(dir, 0o700) // RemoveAll reports the remaining files
	return os.RemoveAll(dir)
}

// Unstage removes the copy that Stage wrote, unless the user trusts it. A copy that Stage found
// stays: open sessions can use an earlier version.
func (s Store) Unstage(ctx context.Context, p Plugin) error {
	if !p.copied {
		return nil
	}
	return s.locked(ctx, func() error {
		records, err := s.Records()
		if err != nil || slices.ContainsFunc(records, p.is) {
			return err
		}
		return s.removeCopy(p.Record)
	})
}

// is reports whether a record has the name and the content of the plugin.
func (p *Plugin) is(r Record) bool { return r.Name == p.Name && r.Digest == p.Digest }

// removeCopy removes the copy of a record.
func (s Store) removeCopy(r Record) error {
	root := s.rootOf(r.Name, r.Digest)
	err := removeTree(root)
	if failure := os.Remove(root + listSuffix); failure != nil && !errors.Is(failure, fs.ErrNotExist) {
		err = errors.Join(err, failure)
	}
	_ = os.Remove(filepath.Dir(root)) // only if it is empty
	return err
}

// Record records a staged plugin: the user trusts it. It replaces an earlier record of the
// name, and keeps whether that one is disabled. The earlier copy stays for the sessions that are
// open: the age that Prune compares begins now.
func (s Store) Record(ctx context.Context, r Record) error {
	return s.change(ctx, func(list []Record) ([]Record, error) {
		copied := Plugin{Record: r, Root: s.rootOf(r.Name, r.Digest)}
		if _, err := copied.verify(nil); err != nil || s.Trusted(r) == "" {
			return nil, fmt.Errorf("the copy of the plugin %q was removed or changed meanwhile; run the command again",
				r.Name)
		}
		for _, known := range list {
			if known.Name != r.Name {
				continue
			}
			r.Disabled = known.Disabled
			if known.Digest == r.Digest {
				r.Added = known.Added
			} else {
				s.touch(known)
			}
		}
		list = slices.DeleteFunc(list, func(known Record) bool { return known.Name == r.Name })
		return append(list, r), os.MkdirAll(s.DataOf(r.Name), 0o700)
	})
}

// Enable enables or disables a plugin.
func (s Store) Enable(ctx context.Context, name string, on bool) error {
	return s.change(ctx, func(list []Record) ([]Record, error) {
		at := slices.IndexFunc(list, func(known Record) bool { return known.Name == name })
		if at < 0 {
			return nil, &UnknownError{name}
		}
		list[at].Disabled = !on
		return list, nil
	})
}

// Remove removes a plugin, its copies and its data.
func (s Store) Remove(ctx context.Context, name string) error {
	return s.locked(ctx, func() error {
		err := s.rewrite(func(list []Record) ([]Record, error) {
			n := len(list)
			list = slices.DeleteFunc(list, func(known Record) bool { return known.Name == name })
			if len(list) == n {
				return nil, &UnknownError{name}
			}
			return list, nil
		})
		if err != nil {
			return err
		}
		return errors.Join(removeTree(filepath.Join(s.dir, "trees", name)), os.RemoveAll(s.DataOf(name)))
	})
}

// UnknownError reports that there is no plugin of the name.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no plugin %q; `settle plugins` lists them", e.Name)
}

// Prune removes the copies of a plugin that are neither in the records nor younger than the
// age: sessions that are open can still use a copy that was replaced.
func (s Store) Prune(ctx context.Context, name string, age time.Duration) error {
	return s.locked(ctx, func() error { return s.prune(name, age) })
}

func (s Store) prune(name string, age time.Duration) error {
	records, err := s.Records()
	if err != nil {
		return err
	}
	var trusted string
	for _, r := range records {
		if r.Name == name {
			trusted = s.rootOf(r.Name, r.Digest)
		}
	}
	dir := filepath.Join(s.dir, "trees", name)
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, strings.TrimSuffix(e.Name(), listSuffix))
		info, statErr := e.Info()
		if path == trusted || statErr != nil || time.Since(info.ModTime()) < age {
			continue
		}
		err = errors.Join(err, removeTree(filepath.Join(dir, e.Name())))
	}
	return err
}

// change changes the records under the lock.
func (s Store) change(ctx context.Context, f func([]Record) ([]Record, error)) error {
	return s.locked(ctx, func() error { return s.rewrite(f) })
}

// rewrite changes the records. The caller holds the lock.
func (s Store) rewrite(f func([]Record) ([]Record, error)) error {
	list, err := s.Records()
	if err != nil {
		return err
	}
	if list, err = f(list); err != nil {
		return err
	}
	data, err := json.MarshalIndent(map[string]any{"plugins": list}, "", "  ")
	if err != nil {
		return err
	}
	return disk.ReplaceDurably(s.file(), append(data, '\n'))
}
