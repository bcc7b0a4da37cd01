//go:build unix

package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// namedFiles are the commands that read a file whose name a person gives: FILE stands
// for it.
func namedFiles() map[string][]string {
	run := []string{"run", "-m", "chat/m", "--base-url", "http://127.0.0.1:9/v1", "--retries", "0"}
	exec := []string{"exec", "--skip-git-repo-check", "-m", "chat/m"}
	with := func(args []string, more ...string) []string { return append(append([]string{}, args...), more...) }
	return map[string][]string{
		"sessions import":                    {"sessions", "import", "FILE"},
		"run --load-trajectory":              with(run, "--load-trajectory", "FILE", "hi"),
		"run --image":                        with(run, "--image", "FILE", "hi"),
		"run --output-schema":                with(run, "--output-schema", "FILE", "hi"),
		"run --system-prompt-file":           with(run, "--system-prompt-file", "FILE", "hi"),
		"run --append-system-prompt-file":    with(run, "--append-system-prompt-file", "FILE", "hi"),
		"exec --image":                       with(exec, "--image", "FILE", "hi"),
		"exec --output-schema":               with(exec, "--output-schema", "FILE", "hi"),
		"claude --settings":                  {"claude", "-p", "--settings", "FILE", "hi"},
		"claude --mcp-config":                {"claude", "-p", "--mcp-config", "FILE", "hi"},
		"claude --system-prompt-file":        {"claude", "-p", "--system-prompt-file", "FILE", "hi"},
		"claude --append-system-prompt-file": {"claude", "-p", "--append-system-prompt-file", "FILE", "hi"},
		"check-endings":                      {"check-endings", "FILE"},
		"fake-model --scenario":              {"fake-model", "--scenario", "FILE"},
		"serve --token-file":                 {"serve", "--token-file", "FILE"},
		"serve --tls-cert":                   {"serve", "--tls-cert", "FILE", "--tls-key", "FILE"},
		"exec-server --token-file":           {"exec-server", "--token-file", "FILE"},
	}
}

// A file that a person names must be regular. Any other entry is an error at once, which names it:
// settle neither waits for it nor reads it without an end.
func TestNamedFilesAreRegular(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range namedFiles() {
		for _, file := range []string{fifo, "/dev/zero", dir} {
			t.Run(name+" "+filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				newPlace(t).refusesFile(file, args)
			})
		}
	}
}

// refusesFile runs settle with the file for FILE; it must fail, and name it.
func (p *place) refusesFile(file string, args []string) (stderr string) {
	p.t.Helper()
	for n, arg := range args {
		if arg == "FILE" {
			args = append(append(append([]string{}, args[:n]...), file), args[n+1:]...)
		}
	}
	p.env = append(p.env, "OPENAI_API_KEY=sk-none-0123456789abcdef", "ANTHROPIC_API_KEY=sk-none-0123456789abcdef")
	cmd := p.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err == nil {
		p.t.Errorf("%q was accepted", args)
	}
	if said := out.String() + errs.String(); !strings.Contains(said, file) || p.ctx.Err() != nil {
		p.t.Errorf("%q does not name the file, or did not end: %s", args, said)
	}
	return errs.String()
}

// An answer can go to a pipe with a reader, but settle does not wait for a reader.
func TestAnswerFileDoesNotWaitForReader(t *testing.T) {
	p := newPlace(t)
	fifo := filepath.Join(p.work, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	p.refusesFile(
		fifo,
		[]string{"run", "-m", "chat/m", "--base-url", "http://127.0.0.1:9/v1", "--retries", "0", "-o", "FILE", "hi"},
	)
}
