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
		Read: []string{dir}, Write: []string{dir}, Protect: []string{filepath.Join(dir, ".git"), filepath.Join(dir, ".gitmodules")},
		Network: sandbox.Offline,
	}
	readable := sandbox.Policy{Read: []string{dir}, Network: sandbox.Offline}
	write, read := "writing "+above+"/b.txt", "reading "+above+"/secret"
	for _, c := range []struct{ line, workspace, readOnly string }{
		{"touch: cannot touch '../b.txt': Read-only file system", write, ""}, // a read-only command quotes it
		{"bash: line 1: ../b.txt: Permission denied", write, ""},
		{"open ../b.txt: permission denied", write, ""},
		{"bash: line 1: .gitmodules: Read-only file system", "writing " + dir + "/.gitmodules", ""},
		{"OSError: [Errno 30] Read-only file system: '../b.txt'", write, ""},
		{"npm error Error: EACCES: permission denied, mkdir '../b.txt'", write, ""},
		{
			"fatal: Unable to create '" + dir + "/.git/index.lock': Read-only file system",
			"writing " + dir + "/.git/index.lock", "",
		},
		{"/usr/bin/bash: line 1: in-another-folder: Read-only file system", "", ""},
		{"cat: ../secret: Permission denied", read, read},
		{"curl: (6) Could not resolve host: example.com", "the network", "the network"},
		{"Error: getaddrinfo ENOTFOUND example.com", "the network", "the network"},
		{"curl: (7) Failed to connect to 127.0.0.1 port 80: Couldn't connect to server", "the network", "the network"},
		{"curl: (7) Failed to connect to localhost port 80: Could not connect to server", "the network", "the network"},
		{"fatal: unable to access 'http://a/': Failed to connect to a port 80 after 0 ms", "the network", "the network"},
		{"Error: Cannot connect to the Docker daemon at unix:///var/run/docker.sock.", "the network", "the network"},
		{"wget: can't connect to remote host (127.0.0.1:8080): Operation not permitted", "the network", "the network"},
		{"urllib.error.URLError: cannot connect to the database: no such file", "", ""},

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
	for line, want := range map[string]bool{
		"PermissionError: [Errno 1] Operation not permitted":         true,
		"fix: say why an operation is not permitted":                 false,
		"main.go:3: // Operation not permitted":                      false,
		"cat: /nowhere/at/all: Permission denied":                    false,
		"error: operation not permitted is what the test must print": false,
	} {
		for mode, p := range map[event.Sandbox]sandbox.Policy{event.Workspace: writable, event.ReadOnly: readable} {
			_, suspect := refusals(p, dir, Output{Sandbox: mode, Text: line + "\n", Completed: true})
			if suspect != (want && mode == event.Workspace) {
				t.Errorf("%s, %q: suspect is %t", mode, line, suspect)
			}
		}
	}
	if ShowsRefusal("ok\nall 12 tests passed\n") {
		t.Error("an output without a refusal shows one")
	}
}
