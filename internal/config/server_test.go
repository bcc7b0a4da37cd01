package config_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/settle-agent/settle/internal/config"
)

func TestServers(t *testing.T) {
	w := newWorld(t)
	w.env["GITHUB_TOKEN"], w.env["WHERE"] = "ghp_0123456789abcdef", "/srv/files"
	w.user(`
[mcp.files]
command = "npx"
args = ["-y", "server-filesystem", "${WHERE}"]
env = { LEVEL = "${LEVEL:-debug}", API_KEY = "a-key-of-the-user" }
cwd = "~/work"
start_timeout = "10s"
timeout = "1m"
tools = ["read_file"]

[mcp.github]
url = "https://example.com/mcp"
headers = { Authorization = "Bearer ${GITHUB_TOKEN}" }
enabled = false

[mcp.broken]
command = ["server", "${NOT_SET}"]
`)
	r := w.load()
	file := func(line string) config.Origin {
		return config.Origin{Kind: config.File, Where: "/home/.config/settle/config.toml:" + line}
	}
	want := map[string]config.Server{
		"files": {
			Name: "files", Command: []string{"npx", "-y", "server-filesystem", "/srv/files"},
			Env: map[string]string{"LEVEL": "debug", "API_KEY": "a-key-of-the-user"},
			Dir: "/home/work", StartTimeout: 10 * time.Second, Timeout: time.Minute, Enabled: true,
			Tools: []string{"read_file"}, Origin: file("2"),
		},
		"github": {
			Name: "github", URL: "https://example.com/mcp",
			Headers: map[string]string{"Authorization": "Bearer ghp_0123456789abcdef"}, Origin: file("11"),
		},
		"broken": {Name: "broken", Command: []string{"server", ""}, Origin: file("16")},
	}
	got := map[string]config.Server{}
	for name, s := range r.Servers {
		s.Dir, s.Origin.Where = w.plain(s.Dir), w.plain(s.Origin.Where)
		got[name] = s
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(config.Server{})); diff != "" {
		t.Error(diff)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], `"broken" is not used: it refers to NOT_SET`) {
		t.Errorf("notes: %q", r.Notes)
	}
	for _, secret := range []string{"ghp_0123456789abcdef", "a-key-of-the-user"} {
		if !slices.Contains(r.Secrets(), secret) {
			t.Errorf("%q is no secret", secret)
		}
	}
	if slices.Contains(r.Secrets(), "/srv/files") {
		t.Error("a path is a secret")
	}
	for _, line := range r.Lines() {
		if strings.Contains(line.Value, "ghp_") || strings.Contains(line.Value, "a-key-of") {
			t.Errorf("%s shows %s", line.Key, line.Value)
		}
	}
}

func TestServersThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"[mcp.x]\n": "needs either a command or a url",
		"[mcp.x]\ncommand = 'a'\nurl = 'https://b'":             "needs either a command or a url",
		"[mcp.x]\nurl = 'ftp://b'":                              "needs a url such as",
		"[mcp.x]\ncommand = 3":                                  "must be a list of strings",
		"[mcp.x]\ncommand = 'a'\nargs = 'b'":                    "must be a list of strings",
		"[mcp.x]\ncommand = 'a'\nenv = { 'A=B' = '1' }":         "no environment can have",
		"[mcp.x]\nurl = 'https://b'\nheaders = { 'a b' = '1' }": "not valid",
		"[mcp.x]\ncommand = 'a'\ntimout = '1s'":                 "unknown setting",
		"[mcp.x]\ncommand = ''":                                 "not empty",
		"mcp = 1":                                               "must be a table",
	} {
		w := newWorld(t)
		w.user(text)
		if _, err := config.Load(w.in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// The project's own file starts no server.
func TestServersOfAProject(t *testing.T) {
	w := newWorld(t)
	w.project("[mcp.x]\ncommand = 'evil'")
	if r := w.load(); len(r.Servers) > 0 || len(r.Notes) != 1 ||
		!strings.Contains(r.Notes[0], "mcp was ignored: a project may not set it") {
		t.Errorf("got %v, %q", r.Servers, r.Notes)
	}
}
