//go:build clients && linux

package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// The servers that everybody has: a session finds their tools and calls them, and
// nothing of them is left.
func TestServersFromNpm(t *testing.T) {
	bins := filepath.Join(packages(t), "node_modules", ".bin")
	files := t.TempDir()
	mark := fmt.Sprintf("npm-servers-%d", os.Getpid())
	env := home(t, "MARK="+mark, "SETTLE_API_KEY=key-0123456789abcdef")
	config := filepath.Join(strings.TrimPrefix(env[0], "HOME="), ".config", "settle", "config.toml")
	if err := os.MkdirAll(filepath.Dir(config), 0o755); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`
[mcp.everything]
command = %q
args = ["stdio"]
start_timeout = "90s"
[mcp.files]
command = %q
args = [%q]
start_timeout = "90s"
[mcp.memory]
command = %q
start_timeout = "90s"
env = { MEMORY_FILE_PATH = %q }
`, filepath.Join(bins, "mcp-server-everything"), filepath.Join(bins, "mcp-server-filesystem"), files, filepath.Join(bins, "mcp-server-memory"), filepath.Join(files, "memory.json"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) result {
		t.Helper()
		r := client{argv: append([]string{settle(t)}, args...), dir: t.TempDir(), env: env}.run(t)
		if r.code != 0 {
			t.Fatalf("%q ended with %d\n%s\n%s", args, r.code, r.stdout, r.stderr)
		}
		return r
	}
	want := map[string]string{"everything": "echo", "files": "write_file", "memory": "create_entities"}
	for line := range strings.Lines(run("mcp-servers", "--test", "--json").stdout) {
		var s struct {
			Name, State string
			Tools       []string
		}
		if err := json.Unmarshal([]byte(line), &s); err != nil || s.State != "ok" ||
			!slices.Contains(s.Tools, want[s.Name]) {
			t.Errorf("%s: %v; want the tool %q", line, err, want[s.Name])
		}
	}
	call := func(name, args string) modeltest.Turn {
		return modeltest.Reply(modeltest.Call("tool_call", `{"name":"`+name+`","arguments":`+args+`}`))
	}
	read := func(server, uri string) modeltest.Turn {
		return modeltest.Reply(modeltest.Call("mcp_resources", `{"server":"`+server+`","uri":"`+uri+`"}`))
	}
	path, _ := json.Marshal(filepath.Join(files, "a.txt"))
	srv := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(modeltest.Call("tool_search", `{"query":"write_file"}`)),
		call("files__write_file", `{"path":`+string(path)+`,"content":"written"}`),
		call("everything__echo", `{"message":"hello, everything"}`),
		call(
			"memory__create_entities", `{"entities":[{"name":"settle","entityType":"agent","observations":["ends"]}]}`,
		),
		call("memory__read_graph", `{}`),
		read("everything", ""),
		read("everything", "demo://resource/dynamic/text/7"),
		read("everything", "demo://resource/dynamic/blob/7"),
		modeltest.Say("done"),
	))
	out := run("run", "--json", "--permission", "allow", "-m", "chat/m", "--base-url", srv.OpenAI(), "go").stdout
	for _, part := range []string{"## files__write_file", "Echo: hello, everything", "demo://resource/static/document/", "demo://resource/dynamic/blob/{resourceId} (", "Resource 7", "[resource: demo://resource/dynamic/blob/7] [resource, text/plain, ", `"kind":"turn.completed"`} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is not in the events:\n%s", part, out)
		}
	}
	if text, err := os.ReadFile(filepath.Join(files, "a.txt")); err != nil || string(text) != "written" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if strings.Contains(out, `"status":"failed","type":"tool_call"`) {
		t.Errorf("a call failed:\n%s", out)
	}
	awaitNoProcess(t, mark, goneTimeout)
}
