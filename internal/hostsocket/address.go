package hostsocket

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
)

const socketSuffix = ".sock"

func hostsDir(dir string) string { return filepath.Join(dir, "hosts") }

// socketPrefix is the start of the file names of a process's sockets.
func socketPrefix(p *event.Identity) string {
	return fmt.Sprintf("%s-%d-%d-", proc.Place(p), p.PID, p.Started)
}

// removeStale removes the sockets of processes that were killed.
func removeStale(dir string, self *event.Identity) {
	entries, _ := os.ReadDir(hostsDir(dir))
	for _, e := range entries {
		parts := strings.Split(strings.TrimSuffix(e.Name(), socketSuffix), "-")
		if len(parts) != 4 || parts[0] != proc.Place(self) {
			continue // a process of another container or machine, which can be alive there
		}
		owner := *self
		var errPID, errStarted error
		owner.PID, errPID = strconv.Atoi(parts[1])
		owner.Started, errStarted = strconv.ParseUint(parts[2], 10, 64)
		if errPID == nil && errStarted == nil && proc.Find(&owner) == proc.Absent {
			_ = os.Remove(filepath.Join(hostsDir(dir), e.Name()))
		}
	}
}

// maxSocketPath bounds the address of a socket in bytes: 104 with a final zero on macOS
// and the BSDs, 108 on Linux (unix(4), unix(7)).
const maxSocketPath = 103

// withShortPath calls f with a path of dir/name that is short enough for the address of a
// socket. The path can become invalid when f returns.
func withShortPath(dir, name string, f func(path string) error) error {
	if path := filepath.Join(dir, name); len(path) <= maxSocketPath {
		return f(path)
	}
	if known, err := withDescriptor(dir, name, f); known {
		return err
	}
	return withLink(dir, name, f)
}

// withLink calls f with a path through a temporary symbolic link, which is in a directory
// that no other user can change.
func withLink(dir, name string, f func(path string) error) error {
	const link = "d"
	base := os.TempDir()
	if longest := filepath.Join(base, "settle4294967295", link, name); len(longest) > maxSocketPath {
		base = "/tmp" // the temporary directory of a macOS user is long already
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
