// Package setsid gives the shell commands of tests setsid(1), also where the
// machine has none: the test binary acts as setsid.
//
//	func TestMain(m *testing.M) {
//		setsid.Command()
//		os.Exit(leak.Run(setsid.With(m)))
//	}
//
// By the name [Subreaper] it takes in its descendants' orphans, as a supervisor
// does, and becomes the command: an attempt to escape process tracking that no program
// of a bare machine offers.
//
// Without this package, a command that should leave its session cannot, and a test of
// such commands passes without having tried.
//
// Files:
//
//   - become_unix.go: starts the command
//   - reaper_linux.go: runs it as a subreaper
package setsid

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

const name = "setsid"

// Subreaper is the name, of a link to the test binary, by which it takes in its
// descendants' orphans.
const Subreaper = "subreaper"

// Tests are the tests of a package; [*testing.M] is that.
type Tests interface{ Run() int }

// Command makes this process setsid if it was started by that name, and returns
// if it was not. It is the first thing that TestMain calls.
func Command() {
	as := become
	switch filepath.Base(os.Args[0]) {
	case name:
	case Subreaper:
		as = takeIn
	default:
		return
	}
	err := errors.New("no command")
	if len(os.Args) > 1 {
		err = as(os.Args[1:])
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[0], err)
	os.Exit(127)
}

// With returns the tests with setsid in PATH.
func With(m Tests) Tests { return tests{m} }

type tests struct{ Tests }

func (t tests) Run() int {
	if _, err := exec.LookPath(name); err == nil || runtime.GOOS == "windows" {
		return t.Tests.Run()
	}
	dir, err := install()
	if err != nil {
		fmt.Fprintf(os.Stderr, "cannot act as setsid: %v\n", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary directory
	return t.Tests.Run()
}

// install copies this program, since another user may not reach it where it is.
func install() (dir string, err error) {
	if dir, err = os.MkdirTemp("", name); err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return dir, err
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return dir, err
	}
	return dir, errors.Join(
		os.Chmod(dir, 0o755), os.WriteFile(filepath.Join(dir, name), program, 0o755),
		os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH")),
	)
}
