//go:build !linux

package pgdev

import (
	"os"
	"os/exec"
)

// account is the user that the server runs as: this process's.
type account struct{}

func serverUser() (account, error) { return account{}, nil }

func (account) makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.Chmod(dir, 0o700)
}

func (account) pass(dir string) error { return os.Chmod(dir, 0o700) }

func (account) apply(*exec.Cmd) {}
