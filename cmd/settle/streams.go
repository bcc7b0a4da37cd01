package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"golang.org/x/term"

	"github.com/settle-agent/settle/internal/agent"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/face/run"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/repo"
)

// streams is what the command line has of the outside world.
type streams struct {
	stdin, stdout, stderr *os.File
	getenv                func(string) string
	environ               []string
	trust                 repo.Trust
	// family is the wire format of the agent that is stood in for; may be empty.
	family config.Wire
}

func system() *streams {
	environ := os.Environ()
	return &streams{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, environ: environ, trust: agent.Trust(environ, os.Getenv),
	}
}

// say says on standard error what is wrong.
func (s *streams) say(err error) {
	fmt.Fprintf(s.stderr, "settle: %s\n", run.Printable(redact.Diagnostic(err.Error())))
}

func terminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// directory returns the working directory for -C, absolute.
func directory(flag string) (string, error) {
	dir, err := filepath.Abs(flag)
	if err != nil {
		return "", fmt.Errorf("cannot find the working directory: %w", err)
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", fmt.Errorf("cannot use the working directory: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only looked at
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		return "", fmt.Errorf("cannot use the working directory: %q is not a directory", dir)
	}
	return dir, nil
}

// settings resolves what is in force for a directory.
func (s *streams) settings(dir string, flags map[string]string, project config.ProjectConfig) (*config.Resolved, error) {
	return config.Load(config.Input{Dir: dir, Getenv: s.getenv, Flags: flags, ProjectConfig: project, Trust: s.trust, Family: s.family})
}

// version is the program's: of a release, or of the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	return v
}
