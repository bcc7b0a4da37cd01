//go:build unix

package executor

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// installed dials sh with a home, and returns the response of the program there to a word.
func installed(t *testing.T, w *CommandDialer) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	defer func() {
		if err := w.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	stream, err := w.Dial(ctx)
	if err != nil {
		return "", err
	}
	if _, err := io.WriteString(stream, "word\n"); err != nil {
		return "", err
	}
	stderr := make([]byte, len("executor: word\n"))
	_, err = io.ReadFull(stream, stderr)
	return string(stderr), err
}

// bare returns a folder with the programs that an installation needs, and without settle.
func bare(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"sh", "head", "wc", "mkdir", "mv", "chmod", "uname", "rm"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A missing program is copied, complete and executable; a present one is not.
func TestInstall(t *testing.T) {
	home := t.TempDir()
	program := filepath.Join(t.TempDir(), "settle")
	// It has zeros, and no end of line at its end.
	text := "#!/bin/sh\n[ \"$1\" = version ] && exit 0\nread -r word; echo \"$1: $word\"\nexit\n" + strings.Repeat(
		"\x00x\n", 100_000,
	)
	if err := os.WriteFile(program, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	way := func() *CommandDialer {
		return &CommandDialer{
			Command: "echo Welcome; true settle executor; settle executor", Dir: home, Install: &Install{Program: program},
			Env: []string{"HOME=" + home, "PATH=" + bare(t)},
		}
	}
	for range 2 {
		if stderr, err := installed(t, way()); err != nil || stderr != "executor: word\n" {
			t.Fatalf("%q, %v", stderr, err)
		}
	}
	path := filepath.Join(home, ".local/bin/settle")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o755 || info.Size() != int64(len(text)) {
		t.Fatalf("%v, %v", info, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("beside it: %v, %v", entries, err)
	}
	// A newer one there is left alone.
	newer := strings.Replace(text, "echo \"$1: ", "echo \"EXECUTOR: ", 1)
	if err := os.WriteFile(path, []byte(newer), 0o700); err != nil {
		t.Fatal(err)
	}
	if stderr, err := installed(t, way()); err != nil || stderr != "EXECUTOR: word\n" {
		t.Errorf("%q, %v", stderr, err)
	}
}

// A program that does not run there gets no name, and a machine of another kind gets nothing.
func TestInstallIsRefused(t *testing.T) {
	program := filepath.Join(t.TempDir(), "settle")
	for name, test := range map[string]struct {
		text, command, want string
		install             Install
	}{
		"does not run":       {"#!/bin/sh\necho no libraries >&2; exit 3\n", "settle executor", "no libraries", Install{}},
		"another machine":    {"#!/bin/sh\nexit 0\n", "settle executor", "this settle is for plan9/mips", Install{GOOS: "plan9", GOARCH: "mips"}},
		"no settle executor": {"#!/bin/sh\nexit 0\n", "ssh host", `has to contain "settle executor"`, Install{}},
		"no shell":           {"#!/bin/sh\nexit 0\n", "echo nobody home >&2; : settle executor", "nobody home", Install{}},
	} {
		if err := os.WriteFile(program, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		home := t.TempDir()
		test.install.Program = program
		w := &CommandDialer{
			Command: test.command,
			Dir:     home,
			Install: &test.install,
			Env:     []string{"HOME=" + home, "PATH=" + bare(t)},
		}
		if _, err := installed(t, w); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
		if entries, _ := os.ReadDir(filepath.Join(home, ".local/bin")); len(entries) > 0 {
			t.Errorf("%s: there is %v", name, entries)
		}
	}
}
