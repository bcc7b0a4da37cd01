package plugins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/config/plugin"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/terminal"
)

// Source is the source of a plugin: a directory, or a git repository.
type Source struct {
	// Where is an absolute directory, or the address of a repository.
	Where string
	Git   bool
	// Ref is a commit, tag or branch; "" for the default branch.
	Ref string
}

var scpLike = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_.-]+@[A-Za-z0-9.-]+:[^:]`)
})

var validRef = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$`)
})

var fullCommit = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-f]{40}$`)
})

// IsCommit reports whether a ref is a whole commit.
func IsCommit(ref string) bool { return fullCommit().MatchString(ref) }

var withScheme = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)
})

// isAddress reports whether a source has the form of an address. A directory of the same name,
// which a project can have, needs "./" before it.
func isAddress(text string) bool {
	return !filepath.IsAbs(text) && (withScheme().MatchString(text) || scpLike().MatchString(text))
}

// ParseSource reads DIR, DIR@REF or URL[@REF]; dir is the base of relative directories.
func ParseSource(dir, text string) (Source, error) {
	switch {
	case text == "":
		return Source{}, errors.New("it is empty")
	case strings.HasPrefix(text, "-"):
		return Source{}, fmt.Errorf("%q begins with a dash; write ./%[1]s for a directory of that name", text)
	}
	if _, err := os.Stat(disk.AbsoluteIn(dir, text)); err == nil && !isAddress(text) {
		return folder(disk.AbsoluteIn(dir, text), "")
	}
	where, ref := text, ""
	if at := strings.LastIndexByte(text, '@'); at > 0 && at > strings.LastIndexAny(text, "/:") {
		where, ref = text[:at], text[at+1:]
		if err := checkRef(ref); err != nil {
			return Source{}, err
		}
	}
	u, err := url.Parse(where)
	switch {
	case err == nil && (u.Scheme == "https" || u.Scheme == "ssh"):
		if _, secret := u.User.Password(); secret || u.Scheme == "https" && u.User != nil {
			return Source{}, errors.New(
				"it contains a login, which settle would have to store; let a credential helper of git have it",
			)
		}
		if u.Host == "" || strings.HasPrefix(u.Host, "-") || strings.HasPrefix(u.User.Username(), "-") {
			return Source{}, fmt.Errorf("%q is no address of a repository", where)
		}
		return Source{Where: where, Git: true, Ref: ref}, nil
	case err == nil && u.Scheme == "file" && u.Host == "" && filepath.IsAbs(filepath.FromSlash(u.Path)):
		return Source{Where: filepath.Clean(filepath.FromSlash(u.Path)), Git: true, Ref: ref}, nil
	case strings.Contains(where, "::") || err == nil && u.Scheme != "" && strings.Contains(where, "://"):
		return Source{}, fmt.Errorf("%q is not fetched: settle fetches https://, ssh:// and file:// addresses", where)
	case scpLike().MatchString(where):
		return Source{Where: where, Git: true, Ref: ref}, nil
	}
	if isAddress(text) {
		return Source{}, fmt.Errorf("%q is no address of a repository", where)
	}
	if _, err := os.Stat(disk.AbsoluteIn(dir, where)); err == nil {
		return folder(disk.AbsoluteIn(dir, where), ref)
	}
	return Source{}, fmt.Errorf(
		"there is no directory %q; an address of a repository begins with https:// or ssh://, "+
			"such as https://github.com/OWNER/NAME", where,
	)
}

func checkRef(ref string) error {
	if !validRef().MatchString(ref) || strings.Contains(ref, "..") {
		return fmt.Errorf("%q is no commit, tag or branch", ref)
	}
	return nil
}

// folder is a directory, or with a ref, or without a work tree, a repository in it.
func folder(at, ref string) (Source, error) {
	info, err := os.Stat(at)
	if err != nil {
		return Source{}, err
	}
	if !info.IsDir() {
		return Source{}, fmt.Errorf("%q is not a directory", at)
	}
	bare := true
	for _, name := range []string{"HEAD", "objects", "refs"} {
		_, err := os.Lstat(filepath.Join(at, name))
		bare = bare && err == nil
	}
	return Source{Where: at, Git: ref != "" || bare, Ref: ref}, nil
}

// SourceOf returns the source of a recorded plugin.
func SourceOf(r plugin.Record) Source { return Source{Where: r.Source, Git: r.Git, Ref: r.Ref} }

// Argument is the source as an argument of a shell's command.
func (s Source) Argument() string {
	where := s.Where
	switch {
	case s.Ref != "":
		where += "@" + s.Ref
	case s.Git && filepath.IsAbs(where): // not the files of the directory
		where = (&url.URL{Scheme: "file", Path: filepath.ToSlash(where)}).String()
		where = strings.ReplaceAll(where, "@", "%40") // no ref
	}
	return terminal.ShellWord(where)
}

// WithRef returns a repository with another commit, tag or branch.
func WithRef(s Source, ref string) (Source, error) {
	s.Ref = ref
	return s, checkRef(ref)
}

// Snapshot is the content of a source at one time. The caller closes it.
type Snapshot interface {
	// Commit is the commit of a repository; "" for a directory.
	Commit() string
	// File returns the content of a small file, by its path with slashes; an error that is
	// [fs.ErrNotExist] without it.
	File(ctx context.Context, name string) ([]byte, error)
	// Tree returns the folder with all contents; "" for the whole source.
	Tree(ctx context.Context, folder string) (plugin.Tree, error)
	Close() error
}

// Open returns the source's content. It fetches a repository; environ is the environment of git,
// and scratch an existing directory for the fetched files.
func (s Source) Open(ctx context.Context, environ []string, scratch string) (Snapshot, error) {
	if s.Git {
		return fetch(ctx, s, environ, scratch)
	}
	return directory(s.Where), nil
}

// directory is the Snapshot of a directory.
type directory string

func (d directory) Commit() string { return "" }
func (d directory) Close() error   { return nil }

const maxListFile = 4 << 20

func (d directory) File(_ context.Context, name string) ([]byte, error) {
	root, err := os.OpenRoot(string(d)) // follows no link out of the directory
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it was only read
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|disk.NonBlocking, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxListFile {
		return nil, errors.Join(err, fmt.Errorf("%q is no file of at most %d bytes", name, maxListFile))
	}
	data, _, err := disk.ReadHead(f, name, maxListFile)
	return data, err
}

func (d directory) Tree(_ context.Context, folder string) (plugin.Tree, error) {
	if err := checkFolder(folder); err != nil {
		return plugin.Tree{}, err
	}
	return plugin.ReadFolder(string(d), folder, func(string) bool { return true })
}

// checkFolder rejects a path out of the source.
func checkFolder(folder string) error {
	if folder == "" {
		return nil
	}
	return plugin.CheckPath(folder)
}

// CleanFolder returns a folder of a source without "./" and a slash at its end.
func CleanFolder(folder string) (string, error) {
	clean := path.Clean("/" + filepath.ToSlash(folder))[1:]
	if slices.Contains(strings.Split(filepath.ToSlash(folder), "/"), "..") || strings.HasPrefix(folder, "/") {
		return "", fmt.Errorf("the folder %q leads out of the source", folder)
	}
	return clean, checkFolder(clean)
}

// Stage copies a plugin from a source into the store. Nothing uses the copy before
// [plugin.Store.Record].
func Stage(
	ctx context.Context, store plugin.Store, from Source, s Snapshot, folder, name string,
) (plugin.Plugin, error) {
	tree, err := s.Tree(ctx, folder)
	if err != nil {
		return plugin.Plugin{}, err
	}
	if len(tree.Files) == 0 {
		return plugin.Plugin{}, fmt.Errorf("there is no file in %q", path.Join("/", folder))
	}
	parts, err := plugin.Parse(tree, name)
	if err != nil {
		return plugin.Plugin{}, err
	}
	r := plugin.Record{
		Name: parts.Name, Source: from.Where, Git: from.Git, Ref: from.Ref, Commit: s.Commit(), Path: folder,
	}
	return store.Stage(ctx, r, tree)
}

// DefaultName is the name of a plugin without a manifest: of its folder or repository.
func DefaultName(from Source, folder string) string {
	name := path.Base(filepath.ToSlash(from.Where))
	if folder != "" {
		name = path.Base(folder)
	}
	if _, after, ok := strings.Cut(name, ":"); ok {
		name = after
	}
	return strings.ToLower(strings.TrimSuffix(name, ".git"))
}

// notThere reports that a source has no file of a name.
func notThere(err error) bool { return errors.Is(err, fs.ErrNotExist) }
