package config_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// A project's servers are in force when its file is trusted as it is.
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
