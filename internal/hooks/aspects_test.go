package hooks_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/hooks"
	"github.com/settle-agent/settle/run"
)

// patch returns the arguments of a patch with the lines.
func patch(lines ...string) string {
	raw, _ := json.Marshal(map[string]string{
		"input": "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch\n",
	})
	return string(raw)
}

// A hook receives each path of a patch that the tool reads, however the header is written.
func TestHooksReceiveEveryFileOfPatch(t *testing.T) {
	const change = "@@\n-a\n+b"
	for _, c := range []struct {
		matcher, patch string
		want           []string
	}{
		{"Edit|Write", patch("*** Update File:.env", change), []string{"Edit /work/.env"}},
		{"Edit|Write", patch("*** Update File:\t.env", change), []string{"Edit /work/.env"}},
		{"Edit|Write", patch("*** Delete File:.env"), []string{"Edit /work/.env"}},
		{"Edit|Write", patch("*** Add File:.env", "+a"), []string{"Write /work/.env"}},
		{"MultiEdit", patch("*** Update File: .env", change), []string{"MultiEdit /work/.env"}},
		{"Edit", patch("*** Update File: a", "*** Move to:.env"), []string{"Edit /work/.env", "Edit /work/a"}},
		{"Write", patch("*** Update File: a", "*** Move to:/x/.env"), []string{"Write /x/.env"}},
		{
			"Write|Edit", patch("*** Delete File: .env", "*** Add File: .env", "+a"),
			[]string{"Edit /work/.env", "Write /work/.env"},
		},
		{"MultiEdit", patch("*** Update File: .env"), []string{"MultiEdit <nil>"}},
		{"Write", `{"input":7}`, []string{"Write <nil>"}},
		{"NotebookEdit", patch("*** Update File: a.ipynb", change), []string{"NotebookEdit /work/a.ipynb"}},
		{"NotebookEdit", patch("*** Update File: a.py", change), nil},
		{"NotebookEdit", `{"input":7}`, []string{"NotebookEdit <nil>"}},
		{"apply_patch", "no JSON", []string{"apply_patch <nil>"}},
		{"Bash", patch("*** Update File: .env"), nil},
	} {
		b := newBench(t, before(c.matcher, "guard"))
		if _, err := b.set.Before(t.Context(), call("apply_patch", c.patch)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, in := range b.runner.inputs {
			input, _ := in["tool_input"].(map[string]any)
			got = append(got, fmt.Sprintf("%v %v", in["tool_name"], input["file_path"]))
		}
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%q received of %s: %q, want %q", c.matcher, c.patch, got, c.want)
		}
	}
}

// Hooks written for Claude Code name its tools, of which several are one tool of settle.
func TestHooksMatchNamesOfClaudeCode(t *testing.T) {
	for _, c := range []struct{ matcher, tool, arguments, want string }{
		{"AskUserQuestion", "ask_user", `{"questions":[]}`, `AskUserQuestion {"questions":[]}`},
		{"ExitPlanMode", "propose_plan", `{"plan":"p"}`, `ExitPlanMode {"plan":"p"}`},
		{
			"KillShell", "job", `{"action":"kill","job":"job1"}`,
			`KillShell {"action":"kill","bash_id":"job1","job":"job1","shell_id":"job1","task_id":"job1"}`,
		},
		{"KillShell", "job", `{"action":"read","job":"job1"}`, ""},
		{"KillBash|TaskStop", "job", `{"action":"kill"}`, `KillBash {"action":"kill"}`},
		{"BashOutput", "job", `{"action":"read"}`, `BashOutput {"action":"read"}`},
		{"BashOutput", "job", `{"action":"kill"}`, ""},
		{"TaskOutput", "job", `{"action":"wait"}`, `TaskOutput {"action":"wait"}`},
		{"", "job", `{"action":"list"}`, `job {"action":"list"}`},
		{"job", "job", `{"action":"kill"}`, `job {"action":"kill"}`},
		{
			"Skill", "skill", `{"arguments":"a","name":"n"}`,
			`Skill {"args":"a","arguments":"a","name":"n","skill":"n"}`,
		},
		{"Agent", "task", `{"agent":"look"}`, `Agent {"agent":"look","subagent_type":"look"}`},
		{"Grep", "grep", `{"limit":7}`, `Grep {"head_limit":7,"limit":7}`},
		{"Grep", "grep", `{"path":"a"}`, `Grep {"path":"/work/a"}`},
		{"Glob", "glob", `{"path":"../a"}`, `Glob {"path":"/a"}`},
		{"LS", "list", `{"path":"/x"}`, `LS {"path":"/x"}`},
		{
			"NotebookEdit", "edit", `{"path":"a.ipynb"}`,
			`NotebookEdit {"file_path":"/work/a.ipynb","notebook_path":"/work/a.ipynb","path":"a.ipynb"}`,
		},
		{"NotebookEdit", "edit", `{"path":"a.py"}`, ""},
		{"Edit", "edit", `{"path":"a.py"}`, `Edit {"file_path":"/work/a.py","path":"a.py"}`},
	} {
		b := newBench(t, before(c.matcher, "x"))
		if _, err := b.set.Before(t.Context(), call(c.tool, c.arguments)); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, in := range b.runner.inputs {
			input, _ := json.Marshal(in["tool_input"])
			got += fmt.Sprintf("%v %s", in["tool_name"], input)
		}
		if got != c.want {
			t.Errorf("%q received of %s %s: %q, want %q", c.matcher, c.tool, c.arguments, got, c.want)
		}
	}
}

// A hook of a server's tool runs also if the model calls the tool through tool_call. A hook of tool_call receives the
// whole call.
func TestHooksOfServerToolRunThroughToolCall(t *testing.T) {
	const (
		direct    = `{"repo":"x"}`
		through   = `{"name":"github__delete_repo","arguments":{"repo":"x"}}`
		resources = `{"name":"mcp_resources","arguments":{"server":"github","uri":"x"}}`
		all       = `{"name":"mcp_resources","arguments":{}}`
	)
	for _, c := range []struct{ matcher, tool, arguments, want string }{
		{
			"mcp__github__delete_repo", "github__delete_repo", direct,
			"mcp__github__delete_repo github__delete_repo " + direct,
		},
		{"mcp__github__delete_repo", "tool_call", through, "mcp__github__delete_repo github__delete_repo " + direct},
		{"mcp__github__.*", "tool_call", through, "mcp__github__delete_repo github__delete_repo " + direct},
		{"github__delete_repo", "tool_call", through, "github__delete_repo github__delete_repo " + direct},
		{"", "tool_call", through, "mcp__github__delete_repo github__delete_repo " + direct},
		{"mcp__gitlab__.*", "tool_call", through, ""},
		{"tool_call", "tool_call", through, "tool_call tool_call " + through},
		{
			"ReadMcpResourceTool", "tool_call", resources,
			`ReadMcpResourceTool mcp_resources {"server":"github","uri":"x"}`,
		},
		{"ReadMcpResourceTool", "tool_call", all, `ReadMcpResourceTool mcp_resources {}`},
		{
			"mcp__github__.*", "mcp_resources", `{"server":"github"}`,
			`mcp__github__mcp_resources mcp_resources {"server":"github"}`,
		},
		{"mcp__github__.*", "tool_call", `{"name":7}`, ""},
	} {
		h := before(c.matcher, "x")
		for e, occur := range map[event.HookEvent]func(*bench) error{
			event.HookBefore: func(b *bench) error {
				_, err := b.set.Before(t.Context(), call(c.tool, c.arguments))
				return err
			},
			event.HookPermission: func(b *bench) error {
				_, err := b.set.Permit(t.Context(), call(c.tool, c.arguments))
				return err
			},
			event.HookAfter: func(b *bench) error {
				_, err := b.set.After(t.Context(), call(c.tool, c.arguments), hooks.Ended{})
				return err
			},
		} {
			h.Event = e
			b := newBench(t, h)
			if err := occur(b); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, in := range b.runner.inputs {
				input, _ := json.Marshal(in["tool_input"])
				got += fmt.Sprintf("%v %v %s", in["tool_name"], in["settle_tool"], canonical(t, string(input)))
			}
			if want := canonical(t, c.want); got != want {
				t.Errorf("%s hook of %q received of %s: %q, want %q", e, c.matcher, c.arguments, got, want)
			}
		}
	}
}

// canonical returns the text with the JSON object at its end in a canonical form.
func canonical(t *testing.T, text string) string {
	t.Helper()
	at := strings.IndexByte(text, '{')
	if at < 0 {
		return text
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(text[at:]), &object); err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(object)
	return text[:at] + string(raw)
}

// Arguments that a hook changes reach the server's tool through tool_call again.
func TestChangeOfServerToolReachesToolCall(t *testing.T) {
	const through = `{"name":"github__search","arguments":{"q":"x","n":1}}`
	for _, c := range []struct{ matcher, updated, want string }{
		{"mcp__github__search", `{"q":"x","n":1}`, ""},
		{"mcp__github__search", `{"q":"y"}`, `{"name":"github__search","arguments":{"q":"y"}}`},
		{"tool_call", `{"name":"github__list","arguments":{}}`, `{"arguments":{},"name":"github__list"}`},
	} {
		b := newBench(t, before(c.matcher, "x"))
		b.runner.answers["x"] = func(map[string]any) (hooks.Result, error) {
			return hooks.Result{Stdout: []byte(`{"hookSpecificOutput":{"updatedInput":` + c.updated + `}}`)}, nil
		}
		if v, err := b.set.Before(t.Context(), call("tool_call", through)); err != nil || v.Arguments != c.want {
			t.Errorf("%s becomes %q, want %q: %v", c.updated, v.Arguments, c.want, err)
		}
	}
}

// A hook allows a patch only if hooks of the user allow each of its files.
func TestHookAllowsWholePatch(t *testing.T) {
	a, env := "*** Add File: a.go\n+x", "*** Update File: .env\n@@\n-a\n+b"
	own := func(matcher, command string) run.Hook { return run.Hook{Matcher: matcher, Command: command, Own: true} }
	notOwn := run.Hook{Matcher: "Edit", Command: "allow"}
	for _, c := range []struct {
		patch string
		hooks []run.Hook
		want  event.Permission
	}{
		{patch(a), []run.Hook{own("Write", "allow")}, event.Allow},
		{patch(a, env), []run.Hook{own("Write", "allow")}, ""},
		{patch(a, env), []run.Hook{own("Write", "allow"), notOwn}, ""},
		{patch(a, env), []run.Hook{own("Edit|Write", "allow a.go")}, ""},
		{patch(a, env), []run.Hook{own("Edit|Write", "allow")}, event.Allow},
		{patch(a, env), []run.Hook{own("Write", "allow"), own("Edit", "allow")}, event.Allow},
		{patch(a, env), []run.Hook{own("Write", "allow"), own("Edit", "ask")}, event.Ask},
	} {
		for _, e := range []event.HookEvent{event.HookBefore, event.HookPermission} {
			for n := range c.hooks {
				c.hooks[n].Event = e
			}
			b := newBench(t, c.hooks...)
			b.answer("allow", func(map[string]any) string { return `{"decision":"approve"}` })
			b.answer("ask", func(map[string]any) string {
				return `{"hookSpecificOutput":{"permissionDecision":"ask"}}`
			})
			b.answer("allow a.go", func(input map[string]any) string {
				if input["file_path"] == "/work/a.go" {
					return `{"decision":"approve"}`
				}
				return ""
			})
			occur := b.set.Before
			if e == event.HookPermission {
				occur = b.set.Permit
			}
			if v, err := occur(t.Context(), call("apply_patch", c.patch)); err != nil || v.Decision != c.want {
				t.Errorf("%s of %s by %+v: %+v, want %q: %v", e, c.patch, c.hooks, v, c.want, err)
			}
		}
	}
}

// answer sets the output of a command for a tool_input.
func (b *bench) answer(command string, prints func(input map[string]any) string) {
	b.runner.answers[command] = func(in map[string]any) (hooks.Result, error) {
		input, _ := in["tool_input"].(map[string]any)
		return hooks.Result{Stdout: []byte(prints(input))}, nil
	}
}

// updated is an answer that replaces a part of the patch that a hook received.
func updated(input map[string]any, old, replacement string) string {
	text, _ := input["input"].(string)
	raw, _ := json.Marshal(map[string]any{"hookSpecificOutput": map[string]any{"updatedInput": map[string]any{
		"input": strings.Replace(text, old, replacement, 1), "file_path": input["file_path"],
	}}})
	return string(raw)
}

// A hook that changes a patch for each of its files keeps all of its changes, and is not asked again about a file that
// it has changed.
func TestHookChangesEveryFileOfPatch(t *testing.T) {
	for _, count := range []int{1, 2, 6} {
		var lines, want []string
		for n := range count {
			lines = append(lines, fmt.Sprintf("*** Add File: %d\n+x", n))
			want = append(want, fmt.Sprintf("*** Add File: %d\n+formatted x", n))
		}
		b := newBench(t, before("Write", "format"), before("Write", "see"))
		b.answer("see", func(map[string]any) string { return "" })
		b.answer("format", func(input map[string]any) string {
			head := fmt.Sprintf("%s\n+", strings.TrimPrefix(fmt.Sprint(input["file_path"]), "/work/"))
			return updated(input, head, head+"formatted ")
		})
		v, err := b.set.Before(t.Context(), call("apply_patch", patch(lines...)))
		if err != nil || v.Denied() || v.Arguments != patch(want...) {
			t.Errorf("%d files: %+v, %v", count, v, err)
		}
	}
}

// A hook that makes the same change for each file makes it once.
func TestHookChangesPatchOnce(t *testing.T) {
	b := newBench(t, before("Write", "change"))
	b.answer("change", func(input map[string]any) string { return updated(input, "+", "+// new\n+") })
	v, err := b.set.Before(t.Context(), call("apply_patch", patch("*** Add File: a\n+x", "*** Add File: b\n+x")))
	if want := patch("*** Add File: a\n+// new\n+x", "*** Add File: b\n+x"); err != nil || v.Arguments != want {
		t.Errorf("%+v, want %s: %v", v, want, err)
	}
}

// A hook that never ends changing a patch denies it.
func TestEndlessChangesOfPatchDeny(t *testing.T) {
	b := newBench(t, before("Write", "rename"))
	b.answer("rename", func(input map[string]any) string { return updated(input, "File: ", "File: new-") })
	v, err := b.set.Before(t.Context(), call("apply_patch", patch("*** Add File: a\n+x", "*** Add File: b\n+x")))
	if err != nil || !v.Denied() || !strings.Contains(v.Reason, "keep changing") {
		t.Errorf("%+v, %v", v, err)
	}
}

// A hook that changes a patch sees the files that it adds.
func TestChangingHookSeesAddedFiles(t *testing.T) {
	b := newBench(t, before("Write|Edit", "guard"))
	b.answer("guard", func(input map[string]any) string {
		switch input["file_path"] {
		case "/work/.env":
			return `{"decision":"block","reason":"keep off"}`
		case "/work/a":
			return updated(input, "*** Add File: a\n", "*** Add File: .env\n+y\n*** Add File: a\n")
		}
		return ""
	})
	v, err := b.set.Before(t.Context(), call("apply_patch", patch("*** Add File: a\n+x", "*** Add File: b\n+x")))
	if err != nil || v.Reason != "keep off" {
		t.Errorf("%+v, %v", v, err)
	}
}
