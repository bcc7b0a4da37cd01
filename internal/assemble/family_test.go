package assemble_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	prompts "github.com/settle-agent/settle/internal/prompt"
	"github.com/settle-agent/settle/modeltest"
)

// families opens a session whose models a strict server provides, which plays the turns.
func families(t testing.TB, settings map[string]string, turns ...modeltest.Turn) (*modeltest.Server, *assemble.Opened) {
	t.Helper()
	return playing(t, modeltest.Scenario{Turns: turns}, settings)
}

// playing is families for a whole scenario.
func playing(t testing.TB, scenario modeltest.Scenario, settings map[string]string) (*modeltest.Server,
	*assemble.Opened,
) {
	t.Helper()
	server, hosts := configured(t, scenario, "", "")
	s, err := hosts.Open(t.Context(), "", assemble.SessionSpec{Dir: t.TempDir(), Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	return server, s
}

// configured is playing with additional settings of a provider, and at the end of the
// user's file.
func configured(t testing.TB, scenario modeltest.Scenario, provider, more string) (*modeltest.Server,
	*assemble.Sessions,
) {
	t.Helper()
	server := modeltest.NewServer(t, scenario)
	home := t.TempDir()
	file := fmt.Sprintf(
		"[providers.openai]\nbase_url = %[1]q\nkey_command = [\"echo\", \"key-0123456789-abcdef\"]\n%[5]s\n"+
			"[providers.anthropic]\nbase_url = %[2]q\nkey_command = [\"echo\", \"key-0123456789-abcdef\"]\n%[5]s\n"+
			"[providers.gemini]\nbase_url = %[3]q\nkey_command = [\"echo\", \"key-0123456789-abcdef\"]\n"+
			"[providers.local]\nwire = \"chat\"\nbase_url = %[4]q\n%[6]s",
		server.OpenAI(),
		server.Anthropic(),
		server.URL+"/v1beta",
		server.OpenAI(),
		provider,
		more,
	)
	if err := os.MkdirAll(filepath.Join(home, ".config", "settle"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".config", "settle", "config.toml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": home, "SETTLE_DATA_DIR": filepath.Join(home, "data"), "PATH": os.Getenv("PATH")}
	getenv := func(name string) string { return env[name] }
	hosts := newHosts(t)
	hosts.Base.Model.Provider = nil
	hosts.Base.Getenv = getenv
	hosts.Base.Environ = []string{"PATH=" + env["PATH"]}
	hosts.Settings = func(dir string, given map[string]string) (*config.Resolved, error) {
		return config.Load(config.Input{Dir: dir, Flags: given, Getenv: getenv, GOOS: "linux"})
	}
	return server, hosts
}

func prompt(t *testing.T, s *assemble.Opened, text string) {
	t.Helper()
	turn, err := s.Submit(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	end, err := turn.Wait(t.Context())
	if err != nil || !end.Completed() {
		t.Fatalf("%+v, %v", end, err)
	}
}

// calls returns the session's calls: the tool, its outcome, and the model's name for it.
func calls(s *assemble.Opened) (out []string) {
	for _, turn := range s.State().Turns {
		for _, i := range turn.Items {
			if c := i.Content(); c.Type == event.ToolCall {
				sent := ""
				if c.Sent != nil {
					sent = " as " + c.Sent.Name
				}
				out = append(out, fmt.Sprintf("%s %s%s", c.Name, i.Status, sent))
			}
		}
	}
	return out
}

// request has the tested fields of a request in both wire formats.
type request struct {
	Tools []struct{ Type, Name string }
	Input []struct {
		Type, Name, Arguments, Input string
	}
	Messages []struct {
		Content json.RawMessage
	}
}

func requests(t *testing.T, server *modeltest.Server) (out []request) {
	t.Helper()
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("the server refused: %q", refused)
	}
	for _, x := range server.Exchanges() {
		var r request
		if err := json.Unmarshal(x.Body, &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func (r request) tools() (names []string) {
	for _, tool := range r.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// A session begins with a GPT model and continues with a Claude model: each receives the
// tools that it knows, and reads the other's calls under its own names; the log has
// settle's names. The providers accept every request.
func TestFamilies(t *testing.T) {
	const patch = "*** Begin Patch\n*** Add File: made.txt\n+one\n*** End Patch\n"
	server, s := families(t, map[string]string{"model": "openai/gpt-5.2"},
		modeltest.Reply(modeltest.Call("exec_command", `{"cmd": "echo hi", "max_output_tokens": 5}`)),
		modeltest.Reply(modeltest.Item{Call: "apply_patch", Input: patch, Arguments: "{}"},
			modeltest.Call("update_plan", `{"plan":[{"step":"look","status":"completed"}]}`)),
		modeltest.Reply(modeltest.Call("shell", `{"command":"echo own"}`),
			modeltest.Call("exec_command", `{"workdir":"/"}`)),
		modeltest.Say("done"),
		modeltest.Reply(
			modeltest.Call("Read", `{"file_path": "made.txt"}`), modeltest.Call("Grep", `{"pattern":"one"}`),
			modeltest.Call("TodoWrite", `{"todos":[{"content":"a","status":"pending","activeForm":"b"}]}`),
		),
		modeltest.Reply(modeltest.Call("Edit", `{"file_path":"made.txt","old_string":"one","new_string":"two"}`),
			modeltest.Call("Bash", `{"command":"true"}`)),
		modeltest.Say("done"),
	)
	prompt(t, s, "go")
	if err := s.Choose(t.Context(), map[string]string{"model": "anthropic/claude-opus-5-5"}); err != nil {
		t.Fatal(err)
	}
	prompt(t, s, "go on")

	want := []string{
		"shell completed as exec_command", "apply_patch completed", "plan completed as update_plan",
		"shell completed", "shell failed as exec_command",
		"read completed as Read", "grep completed as Grep", "plan completed as TodoWrite", "edit completed as Edit",
		"shell completed as Bash",
	}
	if diff := cmp.Diff(want, calls(s)); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	if made, err := os.ReadFile(filepath.Join(s.Spec.Dir, "made.txt")); string(made) != "two\n" {
		t.Errorf("made.txt is %q, %v", made, err)
	}
	seen := promptsOf(t, server)
	if got := seen[0].tools(); !slices.Equal(got[:5],
		[]string{"exec_command", "write_stdin", "job", "apply_patch", "update_plan"}) {
		t.Errorf("GPT is offered %q", got)
	}
	for _, tool := range seen[0].Tools {
		if (tool.Type == "custom") != (tool.Name == "apply_patch") {
			t.Errorf("%s is of type %s", tool.Name, tool.Type)
		}
	}
	if got := seen[4].tools(); !slices.Equal(got[:8],
		[]string{"Bash", "job", "Read", "Write", "Edit", "Glob", "Grep", "TodoWrite"}) {
		t.Errorf("Claude is offered %q", got)
	}
	var own []string
	for _, it := range seen[3].Input {
		if strings.HasSuffix(it.Type, "_call") {
			own = append(own, it.Name+" "+it.Arguments+it.Input)
		}
	}
	if diff := cmp.Diff([]string{
		`exec_command {"cmd": "echo hi", "max_output_tokens": 5}`, "apply_patch " + patch,
		`update_plan {"plan":[{"step":"look","status":"completed"}]}`, `shell {"command":"echo own"}`,
		`exec_command {"workdir":"/"}`,
	}, own); diff != "" {
		t.Errorf("GPT's own calls, to GPT (-want +got):\n%s", diff)
	}
	last := server.Exchanges()[6].Body
	for _, says := range []string{
		`"name":"Bash","input":{"command":"echo hi"}`,
		`"name":"TodoWrite","input":{"todos":[{"content":"look","status":"completed","activeForm":"look"}]}`,
		`"name":"apply_patch"`, `"name":"Read","input":{"file_path":"made.txt"}`, `"activeForm":"b"`,
	} {
		if !strings.Contains(string(last), says) {
			t.Errorf("Claude is not told %s:\n%s", says, last[strings.Index(string(last), `"messages"`):])
		}
	}
	epochs := 0
	for _, turn := range s.State().Turns {
		epochs += len(turn.Changes)
	}
	if epochs != 0 { // a new model has no prefix to keep
		t.Errorf("%d epochs", epochs)
	}
}

// promptsOf checks the system prompts of TestFamilies, and returns the requests.
func promptsOf(t *testing.T, server *modeltest.Server) []request {
	t.Helper()
	for n, want := range map[int]prompts.Family{0: prompts.GPT, 3: prompts.GPT, 4: prompts.Claude, 6: prompts.Claude} {
		own, err := json.Marshal(prompts.Own(want))
		if body := string(server.Exchanges()[n].Body); err != nil || !strings.Contains(body, string(own[1:len(own)-1])) {
			t.Errorf("request %d has no prompt for %s: %v", n, want, err)
		}
	}
	return requests(t, server)
}

// The family can be chosen, and all chosen tools are offered.
func TestToolFamily(t *testing.T) {
	for _, tt := range []struct {
		settings map[string]string
		want     string
	}{
		{
			map[string]string{"model": "openai/gpt-5.2", "tool_family": "settle"},
			"shell job read write edit glob grep plan ask_user web_fetch task",
		},
		{
			map[string]string{"model": "openai/gpt-5.2", "tool_family": "claude"},
			"Bash job Read Write Edit Glob Grep TodoWrite AskUserQuestion web_fetch Task",
		},
		{map[string]string{"model": "openai/gpt-5.2", "tools": "shell,read,edit"}, "exec_command read edit"},
		{
			map[string]string{"model": "anthropic/claude-sonnet-5"},
			"Bash job Read Write Edit Glob Grep TodoWrite AskUserQuestion web_fetch Task",
		},
		{map[string]string{"model": "local/qwen"}, "shell job read write edit glob grep plan ask_user web_fetch task"},
		{
			map[string]string{"model": "local/anthropic/claude-sonnet-5"},
			"Bash job Read Write Edit Glob Grep TodoWrite AskUserQuestion web_fetch Task",
		},
	} {
		server, s := families(t, tt.settings, modeltest.Say("hello"))
		prompt(t, s, "go")
		var got []string
		if raw := requests(t, server)[0]; len(raw.Tools) > 0 && raw.Tools[0].Name != "" {
			got = raw.tools()
		} else {
			var chat struct {
				Tools []struct{ Function struct{ Name string } }
			}
			if err := json.Unmarshal(server.Exchanges()[0].Body, &chat); err != nil {
				t.Fatal(err)
			}
			for _, tool := range chat.Tools {
				got = append(got, tool.Function.Name)
			}
		}
		got = slices.DeleteFunc(got, func(name string) bool { return strings.HasSuffix(name, "_task") })
		if diff := cmp.Diff(strings.Fields(tt.want), got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.settings, diff)
		}
	}
}
