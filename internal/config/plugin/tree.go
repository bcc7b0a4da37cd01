package plugin

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/terminal"
)

// Bounds of a plugin. Sizes are in bytes.
const (
	MaxFiles = 5000
	MaxFile  = 16 << 20
	MaxTotal = 64 << 20
	maxDepth = 24
	maxPath  = 400
)

// File is a regular file of a plugin.
type File struct {
	// Path is relative to the plugin, with slashes.
	Path string
	// Program reports that the file is executable; never on Windows.
	Program bool
	Size    int64
	Sum     [sha256.Size]byte
	// Data is the content; nil if the reader did not keep it.
	Data []byte
}

// Tree is the content of a plugin.
type Tree struct {
	// Files are sorted by path.
	Files []File
	// Omitted describe entries that are no regular files, such as links.
	Omitted []string

	total int64
}

// Add adds a file within the bounds. Its content is not kept unless keep is set.
func (t *Tree) Add(name string, program bool, data []byte, keep bool) error {
	if err := CheckPath(name); err != nil {
		return err
	}
	if err := t.room(name, int64(len(data))); err != nil {
		return err
	}
	f := File{
		Path: name, Program: program && runtime.GOOS != "windows", Size: int64(len(data)),
		Sum: sha256.Sum256(data),
	}
	if keep {
		f.Data = data
	}
	t.Files = append(t.Files, f)
	t.total += f.Size
	return nil
}

// room returns an error if a file of the size exceeds the bounds.
func (t *Tree) room(name string, size int64) error {
	switch {
	case len(t.Files) >= MaxFiles:
		return fmt.Errorf("it has more than %d files", MaxFiles)
	case size > MaxFile:
		return TooLarge(name, size)
	case t.total+size > MaxTotal:
		return fmt.Errorf("its files have more than %d bytes", MaxTotal)
	}
	return nil
}

// TooLarge is the error for a file that exceeds MaxFile.
func TooLarge(name string, size int64) error {
	return fmt.Errorf("the file %q has %d bytes; a file of a plugin has at most %d", name, size, MaxFile)
}

// CheckPath rejects a path that leads out of the plugin or that cannot be shown as it is.
func CheckPath(name string) error {
	parts := strings.Split(name, "/")
	switch {
	case !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, `\:`):
		return fmt.Errorf("the path %q is not allowed in a plugin", name)
	case strings.ContainsFunc(name, func(r rune) bool { return r == '\n' || r == '\t' || terminal.Control(r) }):
		return fmt.Errorf("the path %q has control characters", name)
	case len(name) > maxPath || len(parts) > maxDepth:
		return fmt.Errorf("the path %.80q… is too long", name)
	case slices.ContainsFunc(parts, func(part string) bool { return strings.EqualFold(part, ".git") }):
		return fmt.Errorf("the path %q is of a git repository within the plugin", name)
	}
	return nil
}

// ReadDir reads a directory and follows no link in it. It omits .git. keep selects the files
// whose content is kept; nil keeps no content.
func ReadDir(dir string, keep func(name string) bool) (Tree, error) { return ReadFolder(dir, "", keep) }

// ReadFolder is [ReadDir] for a folder of a directory, a path with slashes; "" for the whole
// directory. A link in the folder's path is an error.
func ReadFolder(dir, folder string, keep func(name string) bool) (Tree, error) {
	var t Tree
	top, err := openFolder(dir, folder)
	if err != nil {
		return t, err
	}
	if keep == nil {
		keep = func(string) bool { return false }
	}
	if err := t.read(top, "", keep); err != nil {
		return Tree{}, err
	}
	t.sort()
	return t, nil
}

// openFolder opens a folder of a directory. It follows links in the path of the directory only.
func openFolder(dir, folder string) (*disk.Dir, error) {
	real, err := disk.Resolve(dir)
	if err != nil {
		return nil, err
	}
	top, err := disk.OpenDir(real)
	if err != nil || folder == "" {
		return top, err
	}
	defer top.Close()
	below, err := top.Below(folder)
	if _, linked := errors.AsType[*disk.ChangedError](err); linked {
		return nil, fmt.Errorf("the folder %q is or goes through a link", folder)
	}
	return below, err
}

func (t *Tree) sort() {
	slices.SortFunc(t.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	slices.Sort(t.Omitted)
}

// read reads an open folder and closes it.
func (t *Tree) read(d *disk.Dir, prefix string, keep func(string) bool) error {
	defer d.Close()
	entries, err := d.Read(MaxFiles+1, func() bool { return true })
	if err != nil {
		return err
	}
	if len(entries) > MaxFiles || len(t.Omitted) > MaxFiles {
		return fmt.Errorf("it has more than %d files", MaxFiles)
	}
	for _, e := range entries {
		name := prefix + e.Name()
		if e.Name() == ".git" {
			continue
		}
		info, err := d.Lstat(e.Name())
		if err != nil {
			return err
		}
		switch {
		case info.IsDir():
			if strings.Count(name, "/") >= maxDepth {
				return fmt.Errorf("the path %.80q… is too long", name)
			}
			sub, err := d.Sub(e.Name())
			if err != nil {
				return err
			}
			if err := t.read(sub, name+"/", keep); err != nil {
				return err
			}
		case !info.Mode().IsRegular():
			t.Omitted = append(t.Omitted, fmt.Sprintf("%q, which is %s", name, disk.Kind(info.Mode())))
		default:
			if err := t.readFile(d, e.Name(), name, keep(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Tree) readFile(d *disk.Dir, entry, name string, keep bool) error {
	f, info, err := d.Open(entry)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	if err := t.room(name, info.Size()); err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return err
	}
	return t.Add(name, info.Mode()&0o100 != 0, data, keep)
}

// List returns one line for each file: its SHA-256, whether it is a program, and its path.
func (t Tree) List() string {
	var b strings.Builder
	for _, f := range t.Files {
		kind := "-"
		if f.Program {
			kind = "x"
		}
		fmt.Fprintf(&b, "%x %s %q\n", f.Sum, kind, f.Path)
	}
	return b.String()
}

// Digest returns the digest of the tree: all paths, contents and executable bits.
func (t Tree) Digest() string { return digestOf(t.List()) }

func digestOf(list string) string {
	sum := sha256.Sum256([]byte(list))
	return digestPrefix + hex.EncodeToString(sum[:])
}

const digestPrefix = "sha256:"

// File returns the file of the path.
func (t Tree) File(name string) (File, bool) {
	n, ok := slices.BinarySearchFunc(t.Files, name, func(f File, name string) int { return cmp.Compare(f.Path, name) })
	if !ok {
		return File{}, false
	}
	return t.Files[n], true
}

// Has reports whether the tree has a file of the path, or files below it.
func (t Tree) Has(name string) bool {
	return name == "." || slices.ContainsFunc(t.Files, func(f File) bool {
		return f.Path == name || strings.HasPrefix(f.Path, name+"/")
	})
}

// Total returns the size of all files in bytes.
func (t Tree) Total() int64 { return t.total }

// Changes returns the files in which two lists differ, in words, sorted by path.
func Changes(before, after string) (out []string) {
	old, errOld := parseList(before)
	now, errNow := parseList(after)
	if errOld != nil || errNow != nil {
		return []string{"the list of files"}
	}
	words := map[string]string{}
	for name, line := range now {
		if was, known := old[name]; !known {
			words[name] = "new: "
		} else if was != line {
			words[name] = "changed: "
		}
	}
	for name := range old {
		if _, still := now[name]; !still {
			words[name] = "removed: "
		}
	}
	names := make([]string, 0, len(words))
	for name := range words {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		out = append(out, words[name]+name)
	}
	return out
}

// parseList returns the rest of each line by path.
func parseList(list string) (map[string]string, error) {
	out := map[string]string{}
	for line := range strings.Lines(list) {
		rest, quoted, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ` "`)
		name, err := strconv.Unquote(`"` + quoted)
		if !ok || err != nil {
			return nil, errors.New("a line is not understood")
		}
		out[name] = rest
	}
	return out, nil
}
