package disk

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// An OwnerError says that other users can decide what a file or directory contains.
type OwnerError struct {
	Path string
	What string // what is wrong with it
	Fix  string // the command that mends it
}

func (e *OwnerError) Error() string {
	return fmt.Sprintf("%q %s; nothing in it was read or changed; if it is yours, run: %s", e.Path, e.What, e.Fix)
}

// CheckOwned returns an [*OwnerError] if a user other than the process's and root owns
// the file or directory at path, or can write it. One that does not exist passes.
//
// The directory above is not looked at: whoever can write it can put something else at
// path, but not something that the user owns.
func CheckOwned(path string) error { return checkAccess(path, 0o022, "go-w") }

// CheckPrivate is [CheckOwned] for what other users must not even read or enter.
func CheckPrivate(path string) error { return checkAccess(path, 0o077, "go-rwx") }

func checkAccess(path string, others fs.FileMode, chmod string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil //nolint:nilerr // Whoever opens it says what is wrong.
	}
	a, known := accessOf(info)
	if !known {
		return nil
	}
	if a.owner != a.self && a.owner != 0 {
		return &OwnerError{path, fmt.Sprintf("belongs to another user (uid %d)", a.owner), "sudo chown -R " + strconv.Itoa(a.self) + " " + quoted(path)}
	}
	mode := info.Mode().Perm() & others
	if a.group == a.self {
		mode &^= 0o070 // the group that a user has alone, as most systems make one for each
	}
	if mode != 0 {
		return &OwnerError{path, fmt.Sprintf("is open to other users (mode %#o)", info.Mode().Perm()), "chmod " + chmod + " " + quoted(path)}
	}
	return nil
}

// Owner returns the user id of the owner of a file; known is false on systems without
// user ids.
func Owner(info fs.FileInfo) (uid int, known bool) {
	a, known := accessOf(info)
	return a.owner, known
}

// access says who owns a file, and who the process is.
type access struct{ owner, group, self int }

// quoted writes a path for a shell.
func quoted(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }
