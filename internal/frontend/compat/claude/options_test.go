package claude

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func TestArguments(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.BoolP("print", "p", false, "")
	flags.String("output-format", "", "")
	flags.String("tools", "", "")
	flags.StringP("resume", "r", "", "")
	flags.StringArray("allowed-tools", nil, "")
	flags.StringArray("add-dir", nil, "")
	flags.StringArray("mcp-config", nil, "")
	for _, c := range []struct {
		args     string // with | between them
		want     string
		warnings int
	}{
		{"--output-format|stream-json|--verbose|--input|x", "--output-format=stream-json", 1},
		{"-p|hello|--output-format=json", "-p|hello|--output-format=json", 0},
		{"--allowedTools|Read|Bash(ls)|-p|hi", "--allowed-tools=Read|--allowed-tools=Bash(ls)|-p|hi", 0},
		{"--allowedTools=Read,Edit|hi", "--allowed-tools=Read,Edit|hi", 0},
		{"--tools|Bash|Read|--print", "--tools=Bash,Read|--print", 0},
		{"--tools=", "--tools=", 0},
		{"--addDir|/a|--add-dir=/b", "--add-dir=/a|--add-dir=/b", 0},
		{"-r|abc|hello", "--resume=abc|hello", 0},
		{"-r||hello", "--resume=|hello", 0},
		{"--task-budget=5|hello", "hello", 1},
		{"--debug|hello", "", 0}, // like Claude's flag: the next word is a filter
		{"--debug|-p|hello", "-p|hello", 0},
		{"--nonsense|--print|hello", "--print|hello", 1},
		{"--mcp-config|{\"a\":1}|-p", "--mcp-config={\"a\":1}|-p", 0},
		{"-p|--|--print", "-p|--|--print", 0},
	} {
		normal, warnings := Arguments(flags, strings.Split(c.args, "|"))
		if got := strings.Join(normal, "|"); got != c.want || len(warnings) != c.warnings {
			t.Errorf("%s\nis   %s\nwant %s\nwarnings %q", c.args, got, c.want, warnings)
		}
	}
}

func TestSettings(t *testing.T) {
	text := `{"permissions":{"allow":["Read"],"deny":["Bash(rm:*)"],"defaultMode":"plan","additionalDirectories":["/x"]},"model":"opus","hooks":{},"env":{}}`
	path := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{text, path} {
		var o Options
		if err := o.Take(from); err != nil {
			t.Fatal(err)
		}
		want := Options{
			Allowed: []string{
				"Read",
			}, Disallowed: []string{"Bash(rm:*)"}, Mode: "plan", AddDirs: []string{"/x"}, Model: "opus",
			Warnings: []string{"settle reads permissions and model from Claude's settings, and ignores: env, hooks"},
		}
		if diff := cmp.Diff(want, o); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for _, bad := range []string{"{", "/nowhere/settings.json"} {
		var o Options
		if err := o.Take(bad); err == nil {
			t.Errorf("%q was taken as settings", bad)
		}
	}
}

func TestServers(t *testing.T) {
	var o Options
	text := `{"mcpServers":{"b":{"command":"run","args":["x"],"env":{"API_TOKEN":"${T}"}},"a":{"type":"sdk","name":"a"},"c":{"type":"sse","url":"https://x"},"d":{"command":"${NONE}"}}}`
	if err := o.TakeServers(text, "/", func(name string) string { return map[string]string{"T": "a-secret-of-the-server"}[name] }); err != nil {
		t.Fatal(err)
	}
	if len(o.Servers) != 1 || o.Servers[0].Env["API_TOKEN"] != "a-secret-of-the-server" ||
		!slices.Contains(o.Servers[0].Secrets(), "a-secret-of-the-server") {
		t.Errorf("servers %+v", o.Servers)
	}
	if diff := cmp.Diff([]string{"a"}, o.OwnServers); diff != "" || len(o.Warnings) != 2 {
		t.Errorf("warnings %q; in the client (-want +got):\n%s", o.Warnings, diff)
	}
	for _, bad := range []string{"{", "/nowhere/servers.json", `{"mcpServers":1}`} {
		if o.TakeServers(bad, "/", func(string) string { return "" }) == nil {
			t.Errorf("%q was taken as servers", bad)
		}
	}
}
