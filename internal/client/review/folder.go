package review

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/disk"
)

const (
	// folderMark is the file that names the files which settle wrote into a folder of comments.
	folderMark = ".settle-review"
	// folderMode is the mode of the files: scripts of other users publish them.
	folderMode = 0o644
	// maxFolder bounds the entries of a folder of comments, and maxMark the bytes of its mark.
	maxFolder, maxMark = 10_000, 64 << 10
)

// write replaces the files that an earlier review wrote into a folder. In other folders it
// changes nothing: the folder must be empty, or have only settle's mark and the files in it.
func write(dir string, files map[string]string) error {
	folder, err := openFolder(dir)
	if err == nil {
		defer folder.Close()
		err = rewrite(folder, files)
	}
	if err != nil {
		return fmt.Errorf("cannot write the comments into %q: %w", dir, err)
	}
	return nil
}

// openFolder opens a folder, and creates it if it is missing. A checkout under review can have
// links to files of the user, so links are followed neither below the current directory nor at
// the end of the path.
func openFolder(dir string) (*disk.Dir, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	top := filepath.Dir(path)
	if here, err := filepath.Abs("."); err == nil && here != path && disk.Within(here, path) {
		top = here
	}
	real, err := disk.Resolve(top)
	if err != nil {
		return nil, err
	}
	inFolder := filepath.Join(real, strings.TrimPrefix(path, top), folderMark)
	folder, _, err := disk.At(top, path, inFolder).MakeDir()
	if link, ok := errors.AsType[*disk.ChangedError](err); ok {
		return nil, fmt.Errorf("%s, and settle writes comments through no link", link.Why)
	}
	return folder, err
}

func rewrite(folder *disk.Dir, files map[string]string) error {
	earlier, err := earlierFiles(folder)
	if err != nil {
		return err
	}
	// Scripts publish all files of the folder: none of an earlier review can remain.
	for _, name := range append(earlier, folderMark) {
		if err := folder.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	names := slices.Sorted(maps.Keys(files))
	if err := create(folder, folderMark, strings.Join(names, "\n")+"\n"); err != nil {
		return err
	}
	for _, name := range names {
		if err := create(folder, name, files[name]); err != nil {
			return err
		}
	}
	return nil
}

// earlierFiles returns the names of the files that an earlier review wrote. The error means that
// the folder has other files, which a review would replace.
func earlierFiles(folder *disk.Dir) ([]string, error) {
	entries, err := folder.Read(maxFolder, func() bool { return true })
	if err != nil {
		return nil, err
	}
	mark, err := readMark(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var earlier []string
	for _, e := range entries {
		switch name := e.Name(); {
		case name == folderMark:
		case isComment(name) && slices.Contains(mark, name):
			earlier = append(earlier, name)
		default: // a checkout under review can have a mark, and scripts publish all files beside the comments
			return nil, fmt.Errorf(
				"the folder has %q, which no review wrote; name a new or empty folder. Nothing in it was changed", name,
			)
		}
	}
	return earlier, nil
}

func readMark(folder *disk.Dir) ([]string, error) {
	f, _, err := folder.Open(folderMark)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxMark))
	return strings.Fields(string(text)), err
}

func create(folder *disk.Dir, name, text string) error {
	f, err := folder.Create(name, folderMode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// isComment reports whether a review can write a file with that name.
func isComment(name string) bool { return name == summaryName || commentName().MatchString(name) }

// commentName matches the names of the files of findings.
var commentName = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{3}\.(md|path|line)$`) },
)
