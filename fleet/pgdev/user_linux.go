package pgdev

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// account is the user that the server runs as; the zero value is this process's.
type account struct{ credential *syscall.Credential }

// serverUser returns this process's user, or, if that is root, one that Postgres accepts.
func serverUser() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			continue
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			continue
		}
		return account{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return account{}, errors.New("postgres does not run as root, and there is no user postgres or nobody")
}

// makeDir makes a directory that only the account can use.
func (a account) makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if a.credential != nil {
		if err := os.Chown(dir, int(a.credential.Uid), int(a.credential.Gid)); err != nil {
			return err
		}
	}
	return os.Chmod(dir, 0o700)
}

// pass creates a directory of this process, which the account can traverse and no other
// user can list.
func (a account) pass(dir string) error {
	if a.credential == nil {
		return os.Chmod(dir, 0o700)
	}
	if err := os.Chown(dir, os.Geteuid(), os.Getegid()); err != nil { // of the account, in older versions
		return err
	}
	return os.Chmod(dir, 0o711)
}

func (a account) apply(cmd *exec.Cmd) {
	// In a group of its own: the terminal's Ctrl-C is for this program.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential, Setpgid: true}
}
