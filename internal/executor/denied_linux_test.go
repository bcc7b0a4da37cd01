package executor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/sandbox"
)

// A command that exited with code 0 may have hidden a denial behind its last part. Lines that only
// quote a refusal are no denial of its own.
func TestRefusalsOfCompletedCommands(t *testing.T) {
	above := t.TempDir()
	dir := filepath.Join(above, "work")
	for _, made := range []string{filepath.Join(dir, ".git"), filepath.Join(dir, "sub")} {
		if err := os.MkdirAll(made, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{filepath.Join(above, "secret"), filepath.Join(dir, "sub", "x.go")} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writable := sandbox.Policy{
		Read: []string{dir}, Write: []string{dir}, Protect: []string{filepath.Join(dir, ".git")},
		Network: sandbox.Offline,
	}
	readable := sandbox.Policy{Read: []string{dir}, Network: sandbox.Offline}
	write, read := "writing "+above+"/b.txt", "reading "+above+"/secret"
	for _, c := range []struct{ line, workspace, readOnly string }{
		{"touch: cannot touch '../b.txt': Read-only file system", write, ""}, // a read-only command quotes it
		{"bash: line 1: ../b.txt: Permission denied", write, ""},
		{"open ../b.txt: permission denied", write, ""},
		{"OSError: [Errno 30] Read-only file system: '../b.txt'", write, ""},
		{"npm error Error: EACCES: permission denied, mkdir '../b.txt'", write, ""},
		{
			"fatal: Unable to create '" + dir + "/.git/index.lock': Read-only file system",
			"writing " + dir + "/.git/index.lock", "",
		},
		{"cat: ../secret: Permission denied", read, read},
		{"curl: (6) Could not resolve host: example.com", "the network", "the network"},
		{"Error: getaddrinfo ENOTFOUND example.com", "the network", "the network"},

		{"notes.md:3: touch: cannot touch '../b.txt': Read-only file system", "", ""},
		{"\treturn fmt.Errorf(\"../b.txt: permission denied\")", "", ""},
		{"sub/x.go:12: permission denied", "", ""},
		{"- touch: cannot touch '../b.txt': Permission denied", "", ""},
		{"  if (err.code === 'ENOTFOUND') // could not resolve", "", ""},
		{"touch: cannot touch 'made': Permission denied", "", ""},
		{"rm: cannot remove '/nowhere/at/all': Permission denied", "", ""},
	} {
		for mode, want := range map[event.Sandbox]string{event.Workspace: c.workspace, event.ReadOnly: c.readOnly} {
			p := writable
			if mode == event.ReadOnly {
				p = readable
			}
			text := "before\n" + c.line + "\nafter\n"
			list, _ := refusals(p, dir, Output{Sandbox: mode, Text: text, Completed: true})
			if got := strings.Join(list, ", "); got != want {
				t.Errorf("%s, %q: %q, want %q", mode, c.line, got, want)
			}
			list, _ = refusals(p, dir, Output{Sandbox: mode, Text: text})
			if want != "" && !slices.Contains(list, want) {
				t.Errorf("%s, %q after a failure: %q, want %q", mode, c.line, list, want)
			}
			if want != "" && !ShowsRefusal(text) {
				t.Errorf("%q shows no refusal", c.line)
			}
		}
	}
	if ShowsRefusal("ok\nall 12 tests passed\n") {
		t.Error("an output without a refusal shows one")
	}
}
