package journal

import (
	"errors"
	"os"
	"path/filepath"
)

// maxSocketPath is how long the address of a socket may be in bytes: 104 with a
// zero at the end on macOS and the BSDs, 108 on Linux (unix(4), unix(7)).
const maxSocketPath = 103

// at calls f with a path of the file in the directory that is short enough for
// the address of a socket. It may hold only until f returns.
func at(dir, name string, f func(path string) error) error {
	if path := filepath.Join(dir, name); len(path) <= maxSocketPath {
		return f(path)
	}
	if known, err := atDescriptor(dir, name, f); known {
		return err
	}
	return atLink(dir, name, f)
}

// atLink calls f with a path through a symbolic link, which is removed then. It
// is in a directory that nobody else can change.
func atLink(dir, name string, f func(path string) error) error {
	const link = "d"
	base := os.TempDir()
	if longest := filepath.Join(base, "settle4294967295", link, name); len(longest) > maxSocketPath {
		base = "/tmp" // macOS has one for each user that is long already
	}
	private, err := os.MkdirTemp(base, "settle")
	if err != nil {
		return err
	}
	short := filepath.Join(private, link)
	if err = os.Symlink(dir, short); err == nil {
		err = errors.Join(f(filepath.Join(short, name)), os.Remove(short))
	}
	return errors.Join(err, os.Remove(private))
}
