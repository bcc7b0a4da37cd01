package exec_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/oneturn"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/frontend/compat/exec"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/mcp"
	"github.com/settle-agent/settle/tool/plan"
	"github.com/settle-agent/settle/tool/search"
	"github.com/settle-agent/settle/tool/shell"
	"github.com/settle-agent/settle/tool/web"
)

// fake is a tool that executes its script.
type fake struct {
	name string
	run  func(context.Context, tool.Call) (tool.Result, error)
}

// Spec returns the spec of the real tool, so that a fake refuses the same arguments. A server's
// tool accepts any arguments.
func (f fake) Spec() tool.Spec {
	for _, t := range slices.Concat(shell.NewJobs(shell.Config{}).Tools(), file.NewWorkspace(file.Config{}).Tools(), search.Tools(search.Config{}), []tool.Tool{web.NewSearch(nil)}) {
		if t.Spec().Name == f.name {
			return t.Spec()
		}
	}
	if f.name == mcp.CallName || strings.Contains(f.name, mcp.Separator) {
		return tool.Spec{Name: f.name, Schema: json.RawMessage(`{"type":"object"}`)}
	}
	panic("there is no tool " + f.name)
}

func (f fake) Run(ctx context.Context, call tool.Call) (tool.Result, error) { return f.run(ctx, call) }

func result(r tool.Result) func(context.Context, tool.Call) (tool.Result, error) {
	return func(_ context.Context, call tool.Call) (tool.Result, error) {
		if call.Progress != nil {
			call.Progress(strings.TrimSuffix(r.Output, "[exit code 3]"))
		}
		return r, nil
	}
}

// lines runs the model's turn and returns the printed lines, without the thread's id.
func lines(
	t *testing.T,
	m *script.Model,
	o oneturn.Options,
	c settle.SessionConfig,
	tools ...tool.Tool,
) (code int, out []string) {
	t.Helper()
	c.Model, c.WorkDir, c.Tools = model.Config{Provider: m, Name: "m"}, "/w", tools
	if c.Permission == "" {
		c.Permission = settle.Allow
	}
	host, err := settle.Open(t.Context(), settle.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	o.Host, o.Config, o.Session, o.Prompt, o.Stdout, o.Stderr = host, c, "T", "hi", &stdout, &stderr
	code = oneturn.Run(
		context.Background(),
		o,
		func(stage oneturn.Stage) oneturn.View { return exec.NewView(stage.Write) },
	)
	for line := range strings.Lines(stdout.String()) {
		out = append(out, strings.TrimSpace(line))
	}
	closed(t, out)
	return code, out
}

// closed checks that everything that started has completed, once, before the last line, which
// reports the end of the turn.
func closed(t *testing.T, lines []string) {
	t.Helper()
	state := map[string]string{}
	for n, line := range lines {
		var e struct {
			Type string
			Item struct{ ID string }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		switch was := state[e.Item.ID]; e.Type {
		case "item.started":
			if was != "" {
				t.Errorf("%s started twice", e.Item.ID)
			}
			state[e.Item.ID] = "open"
		case "item.updated":
			if was != "open" {
				t.Errorf("%s was updated and is %q", e.Item.ID, was)
			}
		case "item.completed":
			if was == "over" {
				t.Errorf("%s completed twice", e.Item.ID)
			}
			state[e.Item.ID] = "over"
		case "turn.completed", "turn.failed":
			if n != len(lines)-1 {
				t.Errorf("the turn ended before %v", lines[n+1:])
			}
			for id, was := range state {
				if was == "open" {
					t.Errorf("%s is open at the turn's end", id)
				}
			}
			return
		}
	}
	t.Errorf("there is no terminal event: %q", lines)
}

func check(t *testing.T, want string, got []string) {
	t.Helper()
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(want), "\n"), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		three := 3
		m := script.New(
			script.Turn(
				script.Reasoning("Hm."),
				script.Text("I ", "<look>."),
				script.Call("shell", `{"command":"ls"}`),
				script.Usage(model.Usage{Input: 10, CacheRead: 4, CacheWrite: 1, Output: 5, Reasoning: 2}),
			),
			script.Turn(
				script.Call(
					"apply_patch",
					`{"input":"*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Update File: o\n*** Move to: n\n*** Delete File: /b\n*** End Patch"}`,
				),
			),
			script.Turn(script.Call("write", `{"path":"sub/c","content":""}`)),
			script.Turn(script.Call("grep", `{"pattern":"x"}`)),
			script.Turn(script.Call("nothing", `{}`)),
			script.Turn(script.Text(""), script.Text("done")),
		)
		code, got := lines(
			t,
			m,
			oneturn.Options{},
			settle.SessionConfig{},
			fake{
				"shell",
				result(tool.Result{Output: "a\n[exit code 3]", OutputBytes: 2, ExitCode: &three, Failed: true}),
			},
			fake{
				"apply_patch",
				result(
					tool.Result{
						Output: "ok",
						Detail: json.RawMessage(
							`{"files":[{"path":"a","kind":"update"},{"path":"n","from":"o","kind":"move"},{"path":"/b","kind":"delete"}]}`,
						),
					},
				),
			},
			fake{
				"write",
				func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, fmt.Errorf("disk full") },
			},
			fake{"grep", result(tool.Result{Output: "x:1"})},
		)
		if code != stdio.CodeCompleted {
			t.Errorf("code %d", code)
		}
		check(t, `
{"type":"thread.started","thread_id":"T"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"Hm."}}
{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"I <look>."}}
{"type":"item.started","item":{"id":"item_2","type":"command_execution","command":"ls","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.updated","item":{"id":"item_2","type":"command_execution","command":"ls","aggregated_output":"a\n","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_2","type":"command_execution","command":"ls","aggregated_output":"a\n","exit_code":3,"status":"failed"}}
{"type":"item.started","item":{"id":"item_3","type":"file_change","changes":[{"path":"/w/a","kind":"update"},{"path":"/w/o","kind":"delete"},{"path":"/w/n","kind":"add"},{"path":"/b","kind":"delete"}],"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_3","type":"file_change","changes":[{"path":"/w/a","kind":"update"},{"path":"/w/o","kind":"delete"},{"path":"/w/n","kind":"add"},{"path":"/b","kind":"delete"}],"status":"completed"}}
{"type":"item.started","item":{"id":"item_4","type":"file_change","changes":[{"path":"/w/sub/c","kind":"update"}],"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_4","type":"file_change","changes":[{"path":"/w/sub/c","kind":"update"}],"status":"failed"}}
{"type":"item.started","item":{"id":"item_5","type":"mcp_tool_call","server":"settle","tool":"grep","arguments":{"pattern":"x"},"result":null,"error":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_5","type":"mcp_tool_call","server":"settle","tool":"grep","arguments":{"pattern":"x"},"result":{"content":[{"type":"text","text":"x:1"}],"structured_content":null},"error":null,"status":"completed"}}
{"type":"item.completed","item":{"id":"item_6","type":"mcp_tool_call","server":"settle","tool":"nothing","arguments":{},"result":null,"error":{"message":"there is no tool \"nothing\"; the tools are shell, apply_patch, write, grep"},"status":"failed"}}
{"type":"item.completed","item":{"id":"item_7","type":"agent_message","text":"done"}}
{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":4,"cache_write_input_tokens":1,"output_tokens":5,"reasoning_output_tokens":2}}`, got)
	})
}

// A call of an MCP server's tool names both, also when it goes through tool_call.
func TestServerTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := script.New(
			script.Turn(script.Call("db__find__one", `{"q":1}`)),
			script.Turn(script.Call("tool_call", `{"name":"db__drop","arguments":{"t":"x"}}`)),
			script.Turn(script.Text("done")),
		)
		code, got := lines(
			t,
			m,
			oneturn.Options{},
			settle.SessionConfig{},
			fake{
				"db__find__one",
				result(tool.Result{Output: "found"}),
			},
			fake{"tool_call", result(tool.Result{Output: "not allowed", Failed: true})},
		)
		if code != stdio.CodeCompleted {
			t.Errorf("code %d", code)
		}
		check(t, `
{"type":"thread.started","thread_id":"T"}
{"type":"turn.started"}
{"type":"item.started","item":{"id":"item_0","type":"mcp_tool_call","server":"db","tool":"find__one","arguments":{"q":1},"result":null,"error":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_0","type":"mcp_tool_call","server":"db","tool":"find__one","arguments":{"q":1},"result":{"content":[{"type":"text","text":"found"}],"structured_content":null},"error":null,"status":"completed"}}
{"type":"item.started","item":{"id":"item_1","type":"mcp_tool_call","server":"db","tool":"drop","arguments":{"t":"x"},"result":null,"error":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_1","type":"mcp_tool_call","server":"db","tool":"drop","arguments":{"t":"x"},"result":null,"error":{"message":"not allowed"},"status":"failed"}}
{"type":"item.completed","item":{"id":"item_2","type":"agent_message","text":"done"}}
{"type":"turn.completed","usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0}}`, got)
	})
}

// The plan is one item of a turn, regardless of the outcome of the calls that changed it. A search
// of the web is an item of its own, also a failed one.
func TestSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := script.New(
			script.Turn(script.Call("web_search", `{"query":"go"}`)),
			script.Turn(script.Call("web_search", `{"query":"no"}`)),
			script.Turn(script.Text("done")),
		)
		code, got := lines(
			t,
			m,
			oneturn.Options{},
			settle.SessionConfig{},
			fake{"web_search", func(_ context.Context, c tool.Call) (tool.Result, error) {
				if strings.Contains(string(c.Args), "no") {
					return tool.Result{Output: "The search failed: 429", Failed: true}, nil
				}
				return tool.Result{
					Output: "found",
					Detail: json.RawMessage(`{"query":"go","sources":[{"title":"Go","url":"https://go.dev/"}]}`),
				}, nil
			}},
		)
		if code != stdio.CodeCompleted {
			t.Errorf("code %d", code)
		}
		check(t, `
{"type":"thread.started","thread_id":"T"}
{"type":"turn.started"}
{"type":"item.started","item":{"id":"item_0","type":"web_search","query":"go","action":{"type":"search","query":"go"},"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_0","type":"web_search","query":"go","action":{"type":"search","query":"go"},"status":"completed","results":[{"title":"Go","url":"https://go.dev/"}]}}
{"type":"item.started","item":{"id":"item_1","type":"web_search","query":"no","action":{"type":"search","query":"no"},"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_1","type":"web_search","query":"no","action":{"type":"search","query":"no"},"status":"failed","error":{"message":"The search failed: 429"}}}
{"type":"item.completed","item":{"id":"item_2","type":"agent_message","text":"done"}}
{"type":"turn.completed","usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0}}`, got)
	})
}

func TestPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := script.New(
			script.Turn(
				script.Call(
					"plan", `{"plan":[{"step":"Look.","status":"in_progress"},{"step":"Tell.","status":"pending"}]}`,
				),
			),
			script.Turn(script.Call("plan", `{"plan":[{"step":" ","status":"pending"}]}`)),
			script.Turn(
				script.Call(
					"plan", `{"plan":[{"step":"Look.","status":"completed"},{"step":"Tell.","status":"in_progress"}]}`,
				),
			),
			script.Turn(script.Text("done")),
		)
		code, got := lines(t, m, oneturn.Options{}, settle.SessionConfig{}, plan.New())
		if code != stdio.CodeCompleted {
			t.Errorf("code %d", code)
		}
		check(t, `
{"type":"thread.started","thread_id":"T"}
{"type":"turn.started"}
{"type":"item.started","item":{"id":"item_0","type":"todo_list","items":[{"text":"Look.","completed":false},{"text":"Tell.","completed":false}]}}
{"type":"item.completed","item":{"id":"item_1","type":"mcp_tool_call","server":"settle","tool":"plan","arguments":{"plan":[{"step":" ","status":"pending"}]},"result":null,"error":{"message":"step 1 says nothing"},"status":"failed"}}
{"type":"item.updated","item":{"id":"item_0","type":"todo_list","items":[{"text":"Look.","completed":true},{"text":"Tell.","completed":false}]}}
{"type":"item.completed","item":{"id":"item_2","type":"agent_message","text":"done"}}
{"type":"item.completed","item":{"id":"item_0","type":"todo_list","items":[{"text":"Look.","completed":true},{"text":"Tell.","completed":false}]}}
{"type":"turn.completed","usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0}}`, got)
	})
}

// C13: a text that a later attempt repeats is shown once.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := script.New(
			script.Turn(
				script.Text("I look."),
				script.Call("grep", `{"pattern":"x"}`),
				script.Delay(time.Second),
				script.Text("And th"),
				script.Cut(),
			),
			script.Turn(script.Text("half an ans"), script.Fail(model.NewError(model.ErrConnection, "reset"))),
			script.Turn(script.Text("The answer.")),
		)
		code, got := lines(
			t,
			m,
			oneturn.Options{},
			settle.SessionConfig{},
			fake{"grep", result(tool.Result{Output: "x"})},
		)
		if code != stdio.CodeCompleted {
			t.Errorf("code %d", code)
		}
		check(t, `
{"type":"thread.started","thread_id":"T"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"I look."}}
{"type":"item.started","item":{"id":"item_1","type":"mcp_tool_call","server":"settle","tool":"grep","arguments":{"pattern":"x"},"result":null,"error":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_1","type":"mcp_tool_call","server":"settle","tool":"grep","arguments":{"pattern":"x"},"result":{"content":[{"type":"text","text":"x"}],"structured_content":null},"error":null,"status":"completed"}}
{"type":"item.completed","item":{"id":"item_2","type":"error","message":"Reconnecting... 1/5 (the response ended without its terminal event)"}}
{"type":"item.completed","item":{"id":"item_3","type":"error","message":"Reconnecting... 2/5 (reset)"}}
{"type":"item.completed","item":{"id":"item_4","type":"agent_message","text":"The answer."}}
{"type":"turn.completed","usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0}}`, got)
	})
}

// A failed turn shows its text so far, and the reason of the failure.
func TestFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		code, got := lines(
			t,
			script.New(script.Turn(script.Text("I was"), script.Fail(model.NewError(model.ErrAuth, "bad key")))),
			oneturn.Options{},
			settle.SessionConfig{},
		)
		if code != stdio.CodeFailed {
			t.Errorf("code %d", code)
		}
		check(t, `
{"type":"thread.started","thread_id":"T"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"I was"}}
{"type":"error","message":"bad key"}
{"type":"turn.failed","error":{"message":"bad key"}}`, got)
	})
}

// An interrupted turn shows its text so far, and the message names who interrupted it: that
// protocol knows no interrupts.
func TestInterrupts(t *testing.T) {
	for _, tt := range []struct {
		stop stdio.Stop
		want string
	}{
		{stdio.Stop{Reason: event.Interrupted, By: "signal:SIGINT", Code: 130}, "interrupted"},
		{stdio.Stop{Reason: event.Shutdown, By: "signal:SIGTERM", Code: 143}, "interrupted"},
		{stdio.Stop{Reason: event.Shutdown, By: "parent", Code: 141}, "settle was shut down"},
		{stdio.Stop{Reason: event.Replaced, By: "client", Code: 1}, "replaced by a new input"},
	} {
		synctest.Test(t, func(t *testing.T) {
			stops := make(chan stdio.Stop, 1)
			deaf := make(chan struct{})
			defer close(deaf)
			shell := fake{"shell", func(_ context.Context, call tool.Call) (tool.Result, error) {
				call.Progress("some ")
				stops <- tt.stop
				<-deaf
				return tool.Result{}, nil
			}}
			m := script.New(script.Turn(script.Text("I run."), script.Call("shell", `{"command":"sleep 9"}`)))
			code, got := lines(t, m, oneturn.Options{Stops: stops}, settle.SessionConfig{}, shell)
			if code != tt.stop.Code {
				t.Errorf("code %d, want %d", code, tt.stop.Code)
			}
			check(t, `
{"type":"thread.started","thread_id":"T"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"I run."}}
{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"sleep 9","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.updated","item":{"id":"item_1","type":"command_execution","command":"sleep 9","aggregated_output":"some ","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"sleep 9","aggregated_output":"some ","exit_code":null,"status":"failed"}}
{"type":"turn.failed","error":{"message":"`+tt.want+`"}}`, got)
		})
	}
}

// A stop before the turn began is also reported.
func TestStopComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stops := make(chan stdio.Stop, 1)
		stops <- stdio.Stop{Reason: event.Shutdown, By: "signal:SIGTERM", Code: 143}
		code, got := lines(
			t,
			script.New(script.Turn(script.Text("…"), script.Stall())),
			oneturn.Options{Stops: stops},
			settle.SessionConfig{},
		)
		if code != 143 || !strings.HasPrefix(got[len(got)-1], `{"type":"turn.failed"`) {
			t.Errorf("code %d, %q", code, got)
		}
	})
}

// A call that nobody lets run is shown as one that failed, with the reason.
func TestRefusedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := script.New(script.Turn(script.Call("shell", `{"command":"rm x"}`)), script.Turn(script.Text("Then not.")))
		code, got := lines(
			t,
			m,
			oneturn.Options{},
			settle.SessionConfig{Permission: settle.Ask, Approver: exec.DenyAll{Mode: "read-only"}},
			fake{"shell", result(tool.Result{})},
		)
		if code != stdio.CodeCompleted {
			t.Errorf("code %d", code)
		}
		check(t, `
{"type":"thread.started","thread_id":"T"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"rm x","aggregated_output":"\"shell\" was not allowed to run: the policy is ask. The session is \"read-only\", and no person can be asked. Continue without it, or state what you would have done.","exit_code":null,"status":"failed"}}
{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"Then not."}}
{"type":"turn.completed","usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0}}`, got)
	})
}

// The output of a command that says little by little is not shown all over
// again each time.
func TestUpdatesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shell := fake{"shell", func(_ context.Context, call tool.Call) (tool.Result, error) {
			for range 3000 {
				call.Progress("0123456789")
				time.Sleep(time.Millisecond)
			}
			return tool.Result{Output: "much"}, nil
		}}
		_, got := lines(
			t,
			script.New(script.Turn(script.Call("shell", `{"command":"x"}`)), script.Turn(script.Text("ok"))),
			oneturn.Options{},
			settle.SessionConfig{},
			shell,
		)
		bytes, updates := 0, 0
		for _, line := range got {
			if strings.Contains(line, "item.updated") {
				bytes, updates = bytes+len(line), updates+1
			}
		}
		if updates < 5 || bytes > 6*30_000 {
			t.Errorf("%d updates with %d bytes for 30,000 of output", updates, bytes)
		}
	})
}

// A reader of lines sees each as one, whatever characters the model wrote.
func TestSeparatorsOfLinesAreEscaped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := script.New(
			script.Turn(script.Text("a\u2028b"), script.Call("grep", "{\"pattern\":\"a\u2028b\u2029c\"}")),
			script.Turn(script.Text("ok")),
		)
		_, got := lines(
			t,
			m,
			oneturn.Options{},
			settle.SessionConfig{},
			fake{"grep", result(tool.Result{Output: "x\u2028y"})},
		)
		for _, line := range got {
			if strings.ContainsAny(line, "\u2028\u2029") {
				t.Errorf("a line that is more than one to some: %q", line)
			}
		}
	})
}
