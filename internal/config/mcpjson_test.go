package config_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A project's servers are in force while this version of its file is trusted.
func TestServersOfMCPJSON(t *testing.T) {
	w := newWorld(t)
	w.env["SETTLE_DATA_DIR"] = filepath.Join(w.dir, "data")
	w.user("[mcp.both]\ncommand = 'mine'")
	w.write("repo/.mcp.json", `{"mcpServers": {"both": {"command": "theirs"}, "one": {"command": "run", "args": ["a"]},
		"stream": {"type": "sse", "url": "https://x"}, "none": {}}, "other": 1}`)
	r := w.load()
	if len(r.Servers) != 1 || r.Servers["both"].Command[0] != "mine" || len(r.ProjectServers) != 1 || r.ProjectServers[0].Trusted {
		t.Fatalf("before it is trusted: %v, %v", r.Servers, r.ProjectServers)
	}
	for _, want := range []string{"(both, one) are not used", `"stream" is not used`, `"none" is not used: it needs either`} {
		if !strings.Contains(strings.Join(r.Notes, "\n"), want) {
			t.Errorf("notes: %q; want %q", r.Notes, want)
		}
	}
	record, err := json.Marshal(map[string]string{r.ProjectServers[0].Path: r.ProjectServers[0].Hash})
	if err != nil {
		t.Fatal(err)
	}
	w.write("data/trust.json", string(record))
	if r = w.load(); len(r.Servers) != 2 || r.Servers["both"].Command[0] != "mine" || r.Servers["one"].Command[1] != "a" {
		t.Errorf("trusted: %v", r.Servers)
	}
	w.write("repo/.mcp.json", `{"mcpServers": {"one": {"command": "evil"}}}`)
	if r = w.load(); len(r.Servers) != 1 {
		t.Errorf("changed: %v", r.Servers)
	}
	for _, text := range []string{"", "{", "[]", `{"mcpServers": 1}`, `null`, `{"mcpServers": {"a": null}}`} {
		w.write("repo/.mcp.json", text)
		if r = w.load(); len(r.Servers) != 1 {
			t.Errorf("%s: %v", text, r.Servers)
		}
	}
	w.write("data/trust.json", "null")
	if len(w.load().Recorded()) > 0 {
		t.Error("something is trusted")
	}
}

// Servers that the user configured for other agents are also used; a wrong one affects no
// other.
func TestServersOfOtherAgents(t *testing.T) {
	w := newWorld(t)
	w.env["TOKEN"], w.env["PASSED"] = "a-token-of-a-server", "through"
	w.user("[mcp.both]\ncommand = 'mine'")
	project, err := json.Marshal(filepath.Join(w.dir, "repo"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("home/.claude.json", `{"numStartups": 3, "mcpServers": {"both": {"command": "theirs"}, "all": {"type": "http", "url": "https://all.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
		"here": {"command": "everywhere"}, "codex-too": {"command": "claude"}}, "projects": {`+string(project)+`: {"mcpServers": {"here": {"command": "only-here"}}}, "/elsewhere": {"mcpServers": {"there": {"command": "x"}}}}}`)
	w.write("home/.codex/config.toml", `model = "gpt-6"
[mcp_servers.codex-too]
command = "codex"
[mcp_servers.docs]
command = "npx"
args = ["-y", "${TOKEN}"]
env = { A = "1" }
env_vars = ["PASSED", { name = "ABSENT" }]
cwd = "sub"
startup_timeout_sec = 2.5
tool_timeout_sec = 60
enabled_tools = ["a", "b"]
disabled_tools = ["b"]
[mcp_servers.web]
url = "https://web.example/mcp"
bearer_token_env_var = "TOKEN"
[mcp_servers.unset]
url = "https://web.example/mcp"
bearer_token_env_var = "NONE"
[mcp_servers.off]
command = "x"
enabled = false
[mcp_servers.wrong]
args = [1]`)
	r := w.load()
	got := map[string]string{}
	for _, s := range r.SortedServers() {
		got[s.Name] = strings.Join(s.Command, " ") + s.URL + " " + w.plain(s.Origin.Where)
		if !s.Enabled {
			got[s.Name] = "off"
		}
	}
	want := map[string]string{
		"both": "mine /home/.config/settle/config.toml:1", "all": "https://all.example/mcp /home/.claude.json", "here": "only-here /home/.claude.json",
		"codex-too": "claude /home/.claude.json", "docs": "npx -y ${TOKEN} /home/.codex/config.toml", "web": "https://web.example/mcp /home/.codex/config.toml",
		"unset": "off", "off": "off",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	docs := r.Servers["docs"]
	if docs.Env["PASSED"] != "through" || docs.Env["A"] != "1" || docs.StartTimeout != 2500*time.Millisecond || docs.Timeout != time.Minute ||
		w.plain(docs.Dir) != "/home/.codex/sub" || len(docs.Tools) != 2 || docs.Without[0] != "b" || r.Servers["web"].Headers["Authorization"] != "Bearer a-token-of-a-server" {
		t.Errorf("docs %+v, web %+v", docs, r.Servers["web"])
	}
	notes := strings.Join(r.Notes, "\n")
	if len(r.Notes) != 2 || !strings.Contains(notes, `"wrong" is not used`) || !strings.Contains(notes, `"unset" is not used: it refers to NONE`) {
		t.Errorf("notes %q", notes)
	}
	if !slices.Contains(r.Secrets(), "a-token-of-a-server") {
		t.Error("the token is not a secret")
	}
	w.user("mcp_import = ['codex']")
	if r = w.load(); r.Servers["codex-too"].Command[0] != "codex" || len(r.Servers) != 5 {
		t.Errorf("without Claude's: %v", r.Servers)
	}
	w.user("mcp_import = []")
	if r = w.load(); len(r.Servers) != 0 {
		t.Errorf("without any: %v", r.Servers)
	}
	w.user("")
	for _, text := range []string{"", "{", "[]", `{"projects": 1}`, `null`} {
		w.write("home/.claude.json", text)
		w.write("home/.codex/config.toml", text)
		w.load()
	}
}
