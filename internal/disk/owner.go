package disk

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// An OwnerError reports that other users can change a file or directory.
type OwnerError struct {
	Path string
	What string // the defect
	Fix  string // the command that repairs it
}

func (e *OwnerError) Error() string {
	return fmt.Sprintf("%q %s; nothing in it was read or changed; if it is yours, run: %s", e.Path, e.What, e.Fix)
}

// CheckOwned returns an [*OwnerError] if a user other than the process's and root owns the file
// or directory at path, or can write it. A missing path passes.
//
// The parent directory is not checked: a user who can write it can replace path, but not with a
// file of this user.
func CheckOwned(path string) error { return checkAccess(path, 0o022, "go-w") }

// CheckPrivate is [CheckOwned] for paths that other users must not read or enter either.
func CheckPrivate(path string) error { return checkAccess(path, 0o077, "go-rwx") }

func checkAccess(path string, others fs.FileMode, chmod string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // opening it reports the error
	}
	a, known := accessOf(info)
	if !known {
		return nil
	}
	if a.owner != a.self && a.owner != 0 {
		return &OwnerError{
			path,
			fmt.Sprintf("belongs to another user (uid %d)", a.owner),
			"sudo chown -R " + strconv.Itoa(a.self) + " " + quoted(path),
		}
	}
	mode := info.Mode().Perm() & others
	if a.group == a.self {
		mode &^= 0o070 // the user's private group, which most systems create
	}
	if mode != 0 {
		return &OwnerError{
			path,
			fmt.Sprintf("is open to other users (mode %#o)", info.Mode().Perm()),
			"chmod " + chmod + " " + quoted(path),
		}
	}
	return nil
}

// Owner returns the user id of the owner of a file; known is false on systems without
// user ids.
func Owner(info fs.FileInfo) (uid int, known bool) {
	a, known := accessOf(info)
	return a.owner, known
}

// access is the owner of a file, and the user of the process.
type access struct{ owner, group, self int }

// setID are the bits of a mode that depend on the owner.
const setID = fs.ModeSetuid | fs.ModeSetgid

// KeepMode gives f the owner of like, and the mode with the set-id and sticky bits of like. If the owner
// cannot be kept, it drops the set-id bits, which depend on the owner.
func KeepMode(f *os.File, like fs.FileInfo, mode fs.FileMode) error {
	mode = mode.Perm() | like.Mode()&(setID|fs.ModeSticky)
	if !keepOwner(f, like) {
		mode &^= setID
	}
	return f.Chmod(mode)
}

// quoted quotes a path for a shell.
func quoted(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }
