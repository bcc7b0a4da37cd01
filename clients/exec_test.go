//go:build clients && linux

package clients

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/modeltest"
)

// execPlan is the plan that exec.mjs reads and executes.
type execPlan struct {
	Codex  map[string]any `json:"codex"`
	Thread map[string]any `json:"thread"`
	Resume string         `json:"resume,omitempty"`
	Turns  []execTurn     `json:"turns"`
}

type execTurn struct {
	Input  any            `json:"input"`
	Stream bool           `json:"stream,omitempty"`
	Schema map[string]any `json:"schema,omitempty"`
	Abort  map[string]any `json:"abort,omitempty"`
}

// execItem is an item as the SDK has it.
type execItem struct {
	ID, Type, Text, Command, Status, Message string
	Output                                   string `json:"aggregated_output"`
	Exit                                     *int   `json:"exit_code"`
	Changes                                  []struct{ Path, Kind string }
	Error                                    *struct{ Message string }
}

// execSaid is a line of exec.mjs.
type execSaid struct {
	Event *struct {
		Type     string
		ThreadID string `json:"thread_id"`
		Item     execItem
		Usage    map[string]int64
		Error    struct{ Message string }
		Message  string
	}
	Result *struct {
		Items         []execItem
		FinalResponse string
		Usage         map[string]int64
	}
	Error  *struct{ Name, Message string }
	Thread string
	Millis int `json:"took"`
}

// execThread returns the options of a thread: the defaults of most tests, and more, a list of names
// and values that replaces or extends them.
func execThread(more ...any) map[string]any {
	all := map[string]any{"model": "gpt-5", "sandboxMode": "danger-full-access", "skipGitRepoCheck": true}
	for n := 0; n < len(more); n += 2 {
		all[more[n].(string)] = more[n+1]
	}
	return all
}

// execClient returns a client that carries the plan out against the server.
func execClient(t *testing.T, srv *modeltest.Server, plan execPlan, env []string) client {
	t.Helper()
	if plan.Codex == nil {
		plan.Codex = map[string]any{}
	}
	plan.Codex["codexPathOverride"] = settle(t)
	if srv != nil {
		plan.Codex["baseUrl"], plan.Codex["apiKey"] = srv.OpenAI(), "sk-of-the-client-1234567890"
	}
	if plan.Thread == nil {
		plan.Thread = execThread()
	}
	raw, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	c := node(t, "exec.mjs", string(raw))
	c.env = env
	return c
}

// execRun runs a plan and returns the output of the SDK.
func execRun(t *testing.T, srv *modeltest.Server, plan execPlan, env []string) []execSaid {
	t.Helper()
	r := execClient(t, srv, plan, env).run(t)
	if r.code != 0 || r.stderr != "" {
		t.Fatalf("code %d\nstdout:\n%s\nstderr:\n%s", r.code, r.stdout, r.stderr)
	}
	return execRead(t, r.stdout)
}

func execRead(t *testing.T, stdout string) []execSaid {
	t.Helper()
	var all []execSaid
	for line := range strings.Lines(stdout) {
		var said execSaid
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, said)
	}
	return all
}

// execEvents returns the types of the events and of their items.
func execEvents(said []execSaid) []string {
	var all []string
	for _, s := range said {
		switch {
		case s.Event != nil && s.Event.Item.Type != "":
			all = append(all, s.Event.Type+" "+s.Event.Item.Type)
		case s.Event != nil:
			all = append(all, s.Event.Type)
		case s.Error != nil:
			all = append(all, "error: "+s.Error.Message)
		}
	}
	return all
}

// execClosed checks that everything that started has completed before the turn's end.
func execClosed(t *testing.T, said []execSaid) {
	t.Helper()
	open := map[string]bool{}
	for _, s := range said {
		if s.Event == nil {
			continue
		}
		switch s.Event.Type {
		case "item.started":
			open[s.Event.Item.ID] = true
		case "item.completed":
			delete(open, s.Event.Item.ID)
		case "turn.completed", "turn.failed":
			if len(open) > 0 {
				t.Errorf("%v are open at the turn's end", open)
			}
			return
		}
	}
	t.Errorf("no turn ended: %q", execEvents(said))
}

// execAwait waits until done says so.
func execAwait(t *testing.T, within time.Duration, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(within)
	for !done() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("it did not %s within %s", what, within)
		}
	}
}

// execKept fails if the server refused anything.
func execKept(t *testing.T, srv *modeltest.Server) {
	t.Helper()
	if refused := srv.Refusals(); len(refused) > 0 {
		t.Errorf("the model server refused: %q", refused)
	}
}

func shellCall(command string) modeltest.Item {
	raw, _ := json.Marshal(map[string]string{"command": command})
	return modeltest.Call("shell", string(raw))
}

// The client's options take effect, and it receives items, answer and usage.
func TestExecRun(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Scenario{
		Rules: modeltest.Rules{Keys: []string{"sk-of-the-client-1234567890"}, RequireStoreFalse: true},
		Turns: []modeltest.Turn{
			modeltest.Reply(modeltest.Think("Hm."), modeltest.Text("I look."), shellCall("pwd; env; exit 3")),
			modeltest.Say("Done."), modeltest.Say("Again."), modeltest.Say("And again."),
		},
	})
	dir := t.TempDir()
	env := home(t, "OPENAI_API_KEY=sk-of-the-machine-123456789", "EXEC_SEEN=yes")
	plan := execPlan{
		Codex:  map[string]any{"config": map[string]any{"developer_instructions": "Answer in verse."}},
		Thread: execThread("workingDirectory", dir, "modelReasoningEffort", "high", "webSearchMode", "live"),
		Turns: []execTurn{
			{Input: "first prompt"},
			{
				Input: []any{
					map[string]string{"type": "text", "text": "second"},
					map[string]string{"type": "text", "text": "prompt"},
				},
			},
		},
	}
	said := execRun(t, srv, plan, env)
	if len(said) != 4 || said[0].Result == nil || said[2].Result == nil {
		t.Fatalf("said %+v", said)
	}
	first := said[0].Result
	if first.FinalResponse != "Done." || first.Usage["input_tokens"] == 0 || first.Usage["output_tokens"] == 0 ||
		len(first.Items) != 4 {
		t.Errorf("result %+v", first)
	}
	command := first.Items[2]
	if command.Type != "command_execution" || command.Exit == nil || *command.Exit != 3 || command.Status != "failed" ||
		!strings.HasPrefix(command.Output, dir+"\n") ||
		!strings.Contains(command.Output, "EXEC_SEEN=yes") {
		t.Errorf("command %+v", command)
	}
	if strings.Contains(command.Output, "sk-of-the") { // C15
		t.Errorf("the command sees a key:\n%s", command.Output)
	}
	if said[2].Result.FinalResponse != "Again." || said[1].Thread == "" || said[1].Thread != said[3].Thread {
		t.Errorf("second turn %+v in %s, first in %s", said[2].Result, said[3].Thread, said[1].Thread)
	}
	plan.Resume, plan.Turns = said[1].Thread, []execTurn{{Input: "third prompt"}}
	if again := execRun(t, srv, plan, env); again[0].Result == nil || again[0].Result.FinalResponse != "And again." ||
		again[1].Thread != said[1].Thread {
		t.Errorf("resumed: %+v", again)
	}
	execKept(t, srv)
	for n, x := range srv.Exchanges() {
		var body struct {
			Model, Instructions string
			Reasoning           struct{ Effort string }
		}
		if err := json.Unmarshal(x.Body, &body); err != nil {
			t.Fatal(err)
		}
		if body.Model != "gpt-5" || body.Reasoning.Effort != "high" ||
			!strings.Contains(body.Instructions, "Answer in verse.") {
			t.Errorf("request %d: model %q, effort %q", n, body.Model, body.Reasoning.Effort)
		}
	}
	last := srv.Exchanges()[3].Body
	for _, part := range []string{"first prompt", "I look.", "Done.", `second\n\nprompt`, "Again.", "third prompt"} {
		if !bytes.Contains(last, []byte(part)) {
			t.Errorf("the last request lacks %q", part)
		}
	}
}

func TestExecStreamed(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(
			modeltest.Text("I work."),
			shellCall("echo a; sleep 0.3; echo b"),
			modeltest.Call("write", `{"path":"new","content":"x\n"}`),
			modeltest.Call("list", `{}`),
		),
		modeltest.Say("Done."),
	))
	said := execRun(t, srv, execPlan{Turns: []execTurn{{Input: "go", Stream: true}}}, home(t))
	execClosed(t, said)
	got := execEvents(said)
	for _, want := range []string{
		"thread.started", "turn.started", "item.completed agent_message", "item.started command_execution", "item.updated command_execution", "item.completed command_execution",
		"item.started file_change", "item.completed file_change", "item.started mcp_tool_call", "item.completed mcp_tool_call", "turn.completed",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %q", want, got)
		}
	}
	if got[0] != "thread.started" || got[1] != "turn.started" || got[len(got)-1] != "turn.completed" {
		t.Errorf("events %q", got)
	}
	execKept(t, srv)
}

func TestExecImages(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Say("Two dots."), modeltest.Say("Still.")))
	path := filepath.Join(t.TempDir(), "dots.png")
	if err := os.WriteFile(path, picture, 0o644); err != nil {
		t.Fatal(err)
	}
	input := []any{
		map[string]string{"type": "text", "text": "What is this?"},
		map[string]string{"type": "local_image", "path": path},
		map[string]string{"type": "local_image", "path": path},
	}
	said := execRun(t, srv, execPlan{Turns: []execTurn{{Input: input}, {Input: input}}}, home(t))
	if said[0].Result == nil || said[2].Result == nil || said[2].Result.FinalResponse != "Still." {
		t.Fatalf("said %+v", said)
	}
	for n, x := range srv.Exchanges() {
		if got := bytes.Count(x.Body, []byte(`"input_image"`)); got != 2*(n+1) {
			t.Errorf("request %d has %d images", n, got)
		}
	}
	execKept(t, srv)
}

// The schema reaches the model in each of the three wire formats.
func TestExecSchema(t *testing.T) {
	schema := map[string]any{
		"type":                 "object",
		"properties":           map[string]any{"sum": map[string]any{"type": "number"}},
		"required":             []string{"sum"},
		"additionalProperties": false,
	}
	want, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	for dialect, plan := range map[modeltest.Dialect]func(*modeltest.Server) (execPlan, []string){
		modeltest.Responses: func(*modeltest.Server) (execPlan, []string) { return execPlan{}, nil },
		modeltest.Messages: func(srv *modeltest.Server) (execPlan, []string) {
			return execPlan{Thread: execThread("model", "anthropic/claude-opus-5-5")}, []string{"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=" + srv.Anthropic()}
		},
		modeltest.Chat: func(srv *modeltest.Server) (execPlan, []string) {
			return execPlan{Codex: map[string]any{"config": map[string]any{
				"model_provider":  "local",
				"model_providers": map[string]any{"local": map[string]any{"name": "local", "base_url": srv.OpenAI(), "wire_api": "chat", "env_key": "LOCAL_KEY"}},
			}}}, []string{"LOCAL_KEY=sk-local-1234567890123"}
		},
	} {
		t.Run(string(dialect), func(t *testing.T) {
			srv := modeltest.NewServer(
				t,
				modeltest.Script(
					modeltest.Reply(shellCall("echo 3")),
					modeltest.Say(`{"sum":3}`),
					modeltest.Say("Words."),
				),
			)
			p, env := plan(srv)
			p.Turns = []execTurn{{Input: "1+2?", Schema: schema}, {Input: "and in words"}}
			said := execRun(t, srv, p, home(t, env...))
			if said[0].Result == nil || said[0].Result.FinalResponse != `{"sum":3}` || said[2].Result == nil ||
				said[2].Result.FinalResponse != "Words." {
				t.Errorf("said %+v", said)
			}
			for n, x := range srv.Exchanges() {
				if x.Dialect != dialect || n < 2 && !jsonEqual(t, x.Schema, want) || n == 2 && x.Schema != nil {
					t.Errorf("request %d, %s: schema %s", n, x.Dialect, x.Schema)
				}
			}
			execKept(t, srv)
		})
	}
}

func jsonEqual(t *testing.T, a, b []byte) bool {
	t.Helper()
	var one, two any
	if err := json.Unmarshal(a, &one); err != nil {
		return false
	}
	if err := json.Unmarshal(b, &two); err != nil {
		t.Fatal(err)
	}
	x, _ := json.Marshal(one)
	y, _ := json.Marshal(two)
	return bytes.Equal(x, y)
}

// The permissions of a sandbox mode, as far as the effects of calls show them.
func TestExecSandbox(t *testing.T) {
	write := func(path string) modeltest.Item {
		raw, _ := json.Marshal(map[string]string{"path": path, "content": "x\n"})
		return modeltest.Call("write", string(raw))
	}
	for mode, want := range map[string]string{
		"":                   "completed failed failed failed failed failed",
		"read-only":          "completed failed failed failed failed failed",
		"workspace-write":    "completed completed completed completed failed failed",
		"danger-full-access": "completed completed completed completed completed completed",
	} {
		t.Run("mode "+mode, func(t *testing.T) {
			// Not in /tmp, where files may be changed in any case.
			root, err := os.MkdirTemp("/var/tmp", "settle-exec-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(root) })
			added, outside := filepath.Join(root, "added"), filepath.Join(root, "outside")
			srv := modeltest.NewServer(t, modeltest.Script(
				modeltest.Reply(
					shellCall("ls"),
				),
				modeltest.Reply(shellCall("touch made")),
				modeltest.Reply(write("inside")),
				modeltest.Reply(write(filepath.Join(added, "f"))),
				modeltest.Reply(
					write(filepath.Join(outside, "f")),
				),
				modeltest.Reply(shellCall("mkdir -p x > "+outside)),
				modeltest.Say("Done."),
			))
			thread := execThread("additionalDirectories", []string{added}, "approvalPolicy", "on-request")
			delete(thread, "sandboxMode")
			if mode != "" {
				thread["sandboxMode"] = mode
			}
			if mode == "danger-full-access" { // the last one fails by itself there: it is a directory by then
				want = strings.TrimSuffix(want, "completed") + "failed"
			}
			said := execRun(t, srv, execPlan{Thread: thread, Turns: []execTurn{{Input: "go"}}}, home(t))
			if said[0].Result == nil {
				t.Fatalf("said %+v", said)
			}
			var got []string
			for _, i := range said[0].Result.Items {
				if i.Status != "" {
					got = append(got, i.Status)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("calls %s, want %s", got, want)
			}
			if _, err := os.Stat(outside); (err == nil) != (mode == "danger-full-access") {
				t.Errorf("%s: %v", outside, err)
			}
			execKept(t, srv)
		})
	}
}
