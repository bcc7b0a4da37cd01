package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
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

// streams is the process's environment: standard streams, variables and telemetry.
type streams struct {
	stdin, stdout, stderr *os.File
	getenv                func(string) string
	environ               []string
	trust                 repo.Trust
	block                 proc.Block
	telemetry             *telemetry.Telemetry
	// family is the wire format of the agent that settle replaces; may be empty.
	family config.Wire
}

// system takes over the process's environment. Afterwards other processes cannot read
// its keys (C15).
func system() *streams {
	block, _ := proc.FindBlock() // without a block, other processes cannot read one
	_ = proc.Seclude()           // fails on old kernels only; docs/processes.md
	for i := range os.Args {
		os.Args[i] = strings.Clone(os.Args[i]) // the block has their bytes
	}
	environ := os.Environ()
	blankCredentials(block.Environ)
	return &streams{
		stdin:     os.Stdin,
		stdout:    os.Stdout,
		stderr:    os.Stderr,
		getenv:    os.Getenv,
		environ:   environ,
		trust:     assemble.Trust(environ, os.Getenv),
		block:     block,
		telemetry: telemetry.New(os.Getenv),
	}
}

// options returns the options of an agent in a directory that every command sets.
func (s *streams) options(r *config.Resolved, dir string) assemble.Options {
	return assemble.Options{Settings: r, Dir: dir, Environ: s.environ, Getenv: s.getenv, Version: version()}
}

// blankCredentials overwrites the values of all variables that are named like credentials, before
// the configuration determines which of them settle uses.
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

// say prints an error on standard error.
func (s *streams) say(err error) {
	text := fmt.Sprintf("settle: %s\n", terminal.Text(redact.Diagnostic(err.Error())))
	fmt.Fprint(s.stderr, terminal.Fold(text, terminal.Columns(s.stderr)))
}

// list has a list be written to standard output. For an empty one, it says so on standard
// error.
func (s *streams) list(empty string, write func(io.Writer) error) error {
	to := &listOutput{File: s.stdout}
	if err := write(to); err != nil || to.written {
		return failed(err)
	}
	s.say(errors.New(empty))
	return nil
}

// listOutput is standard output that knows whether something was written.
type listOutput struct {
	*os.File
	written bool
}

func (o *listOutput) Write(data []byte) (int, error) {
	o.written = o.written || len(data) > 0
	return o.File.Write(data)
}

// WriteString implements [io.StringWriter], instead of the file.
func (o *listOutput) WriteString(text string) (int, error) { return o.Write([]byte(text)) }

// lines returns the writer of JSON lines. On a terminal, it escapes control characters.
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
	defer func() { _ = f.Close() }() // it was opened for its type
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		return "", fmt.Errorf("cannot use the working directory: %q is not a directory", dir)
	}
	return dir, nil
}

// settings returns the settings in force for a directory, and overwrites their secrets
// in the process's arguments and environment.
func (s *streams) settings(
	dir string, flags map[string]string, project config.ProjectConfig,
) (*config.Resolved, error) {
	r, err := config.Load(
		config.Input{
			Dir:           dir,
			Getenv:        s.getenv,
			Flags:         flags,
			ProjectConfig: project,
			Trust:         s.trust,
			Family:        s.family,
		},
	)
	if err == nil {
		assemble.MarkWorkDir(r, dir, s.getenv)
		secrets := redact.New(r.Secrets()...)
		secrets.Blank(s.block.Args)
		secrets.Blank(s.block.Environ)
	}
	return r, err
}

// releaseVersion is the version of a released program; the linker sets it (-X).
var releaseVersion = unreleased

const unreleased = "devel"

// version returns the version of a release, or of the commit.
func version() string {
	if releaseVersion != unreleased {
		return releaseVersion
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

// collectLate lets the heap grow to 16 MB before the first garbage collection, unless GOGC is
// set. Most runs end before it, with as much memory and a tenth less CPU time.
func (s *streams) collectLate() {
	if s.getenv("GOGC") != "" {
		return
	}
	const percent = 400 // of Go's least heap, 4 MB
	sentinel := new([64]byte)
	runtime.AddCleanup(sentinel, func(before int) { debug.SetGCPercent(before) }, debug.SetGCPercent(percent))
}

// keepGarbage sets the garbage collector's target percentage, unless GOGC is set.
func (s *streams) keepGarbage(percent int) {
	if s.getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
