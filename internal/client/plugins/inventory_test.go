package plugins

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/config/plugin"
	"github.com/settle-agent/settle/internal/terminal"
)

// For any texts of a plugin, a part is one line, and the line shows where it ends.
func TestPartsCannotForgeLines(t *testing.T) {
	for _, text := range []string{
		"a\nhook  Stop: true", "a\rb", "a\x1b[2K\x1b[1A", "a\u202eb", "a\u2028b", "a\u200bb", "a\x9bb", "a\tb", "\xff",
		"a                              hook        Stop: true", " a", "a\u00a0b", "\U000e0041",
	} {
		for _, part := range []Part{
			{Kind: KindHook, Name: text},
			{Kind: KindHook, Name: "x", Runs: text},
			{Kind: KindHook, Name: "x", Details: []string{text}},
		} {
			line := part.Line()
			if strings.ContainsFunc(line, func(r rune) bool { return r == '\n' || r == '\t' || terminal.Control(r) }) ||
				!strings.Contains(line, `"`) {
				t.Errorf("%q is shown as %q", text, line)
			}
		}
	}
	forged := Part{KindAgent, "p:a", "", []string{"tools: a; permission: deny"}}
	if line := forged.Line(); line != `agent       p:a; "tools: a; permission: deny"` {
		t.Error(line)
	}
	plain := Part{KindHook, "Stop of a|b", `sh "$X/é.sh" && echo '日本'`, nil}
	if line := plain.Line(); line != `hook        Stop of a|b: sh "$X/é.sh" && echo '日本'` {
		t.Error(line)
	}
}

// The list has everything that settle reads of a server.
func TestServerIsShownWithAllKeys(t *testing.T) {
	seen := map[string]string{}
	variants := map[string]func(*config.SharedServer){
		"":         func(*config.SharedServer) {},
		"type":     func(s *config.SharedServer) { s.Type = "sse" },
		"command":  func(s *config.SharedServer) { s.Command = "other" },
		"args":     func(s *config.SharedServer) { s.Args = []string{"a b"} },
		"env":      func(s *config.SharedServer) { s.Env = map[string]string{"A": "${B}"} },
		"cwd":      func(s *config.SharedServer) { s.Cwd = "sub" },
		"url":      func(s *config.SharedServer) { s.URL = "https://host" },
		"headers":  func(s *config.SharedServer) { s.Headers = map[string]string{"A": "${B}"} },
		"timeout":  func(s *config.SharedServer) { s.Timeout = 1.5 },
		"disabled": func(s *config.SharedServer) { s.Disabled = true },
		"oauth":    func(s *config.SharedServer) { s.OAuth = &config.SharedOAuth{} },
		"clientId": func(s *config.SharedServer) { s.OAuth = &config.SharedOAuth{ClientID: "${B}"} },
		"port":     func(s *config.SharedServer) { s.OAuth = &config.SharedOAuth{CallbackPort: 1} },
	}
	for key, change := range variants {
		s := config.SharedServer{Command: "run"}
		change(&s)
		line := server("name", &s).Line()
		if other, known := seen[line]; known {
			t.Errorf("%q is shown as %q: %s", key, other, line)
		}
		seen[line] = key
	}
	fields := reflect.TypeFor[config.SharedServer]().NumField() + reflect.TypeFor[config.SharedOAuth]().NumField()
	if len(variants) != fields+1 {
		t.Errorf("%d fields, and %d variants", fields, len(variants))
	}
}

func TestHooksShowWhereTheirWordsEnd(t *testing.T) {
	for hook, want := range map[string]string{
		`{"command": "sh -c 'a b'"}`:                    `hook        Stop: sh -c 'a b'`,
		`{"command": "sh", "args": ["-c", "a b"]}`:      `hook        Stop: sh -c "a b"`,
		`{"command": "sh", "args": ["-c", "a", "b"]}`:   `hook        Stop: sh -c a b`,
		`{"command": "sh -c", "args": []}`:              `hook        Stop: "sh -c"`,
		`{"command": "b", "matcher": "Bash: a; x"}`:     `hook        Stop of "Bash: a; x": b`,
		`{"command": "b", "matcher": "Bash|Edit(x y)"}`: `hook        Stop of Bash|Edit(x y): b`,
	} {
		doc := plugin.Doc{Where: "hooks.json", JSON: []byte(`{"Stop": [` + hook + `]}`)}
		p := plugin.Plugin{Root: "/root", Parts: plugin.Manifest{Hooks: []plugin.Doc{doc}}}
		if parts := Inventory(&p, os.Getenv); len(parts) != 1 || parts[0].Line() != want {
			t.Errorf("%s: %+v, want %s", hook, parts, want)
		}
	}
}

func TestDifference(t *testing.T) {
	before := []Part{{KindHook, "Stop", "old", nil}, {KindSkill, "p:a", "", nil}}
	after := []Part{{KindHook, "Stop", "new", nil}, {KindSkill, "p:a", "", nil}}
	want := []string{"- hook        Stop: old", "+ hook        Stop: new", "file changed: a.sh"}
	if diff := cmp.Diff(want, Difference(before, after, []string{"changed: a.sh"})); diff != "" {
		t.Error(diff)
	}
	if got := Summary(after); got != "1 hook, 1 skill" {
		t.Error(got)
	}
}
