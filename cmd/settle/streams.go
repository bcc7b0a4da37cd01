package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"golang.org/x/term"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/telemetry"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/repo"
	"github.com/settle-agent/settle/internal/terminal"
)

// streams is what the command line has of the outside world.
type streams struct {
	stdin, stdout, stderr *os.File
	getenv                func(string) string
	environ               []string
	trust                 repo.Trust
	block                 proc.Block
	telemetry             *telemetry.Telemetry
	// family is the wire format of the agent that is stood in for; may be empty.
	family config.Wire
}

// system takes over what the process was started with. From here on other
// processes see no keys of it (C15).
func system() *streams {
	block, _ := proc.FindBlock() // where there is none, nobody else sees it, either
	_ = proc.Seclude()           // an old kernel at worst; docs/processes.md
	for i := range os.Args {
		os.Args[i] = strings.Clone(os.Args[i]) // they lie in the block
	}
	environ := os.Environ()
	blankCredentials(block.Environ)
	return &streams{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, environ: environ, trust: assemble.Trust(environ, os.Getenv),
		block: block, telemetry: telemetry.New(os.Getenv),
	}
}

// blankCredentials overwrites the values of the variables that are called like
// credentials, before it is known which ones settle is to use.
func blankCredentials(environ []byte) {
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		name, value, _ := bytes.Cut(entry, []byte("="))
		if !config.Credential(string(name)) {
			continue
		}
		for i := range value {
			value[i] = '*'
		}
	}
}

// say says on standard error what is wrong.
func (s *streams) say(err error) {
	fmt.Fprintf(s.stderr, "settle: %s\n", terminal.Text(redact.Diagnostic(err.Error())))
}

// lines is where JSON goes: on a terminal, with every character escaped that it
// might obey.
func (s *streams) lines() io.Writer {
	if isTerminal(s.stdout) {
		return &terminal.JSONWriter{To: s.stdout}
	}
	return s.stdout
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

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

// settings resolves what is in force for a directory. What is secret of it is
// no longer shown of the process.
func (s *streams) settings(dir string, flags map[string]string, project config.ProjectConfig) (*config.Resolved, error) {
	r, err := config.Load(config.Input{Dir: dir, Getenv: s.getenv, Flags: flags, ProjectConfig: project, Trust: s.trust, Family: s.family})
	if err == nil {
		secrets := redact.New(r.Secrets()...)
		secrets.Blank(s.block.Args)
		secrets.Blank(s.block.Environ)
	}
	return r, err
}

// released is the version of a released program: what builds a release puts it here.
var released = unreleased

const unreleased = "devel"

// version is the program's: of a release, or of the commit.
func version() string {
	if released != unreleased {
		return released
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = unreleased
	}
	return v
}

// keepGarbage sets how much garbage the process keeps beside what is in use, unless
// GOGC says it.
func (s *streams) keepGarbage(percent int) {
	if s.getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
