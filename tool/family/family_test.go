package family_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/ask"
	"github.com/settle-agent/settle/tool/family"
	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/plan"
	"github.com/settle-agent/settle/tool/search"
	"github.com/settle-agent/settle/tool/shell"
	"github.com/settle-agent/settle/tool/skill"
	"github.com/settle-agent/settle/tool/task"
)

// all has settle's own tools, which the tests do not run.
func all(t *testing.T) *tool.Set {
	t.Helper()
	set, err := tool.NewSet(slices.Concat(
		shell.NewJobs(shell.Config{Outside: true}).Tools(), file.NewWorkspace(file.Config{}).Tools(),
		search.Tools(search.Config{}),
		[]tool.Tool{plan.New(), ask.New()}, task.Tools(nil), []tool.Tool{skill.New(nil)},
	)...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func names(specs []tool.Spec) (out []string) {
	for _, s := range specs {
		out = append(out, s.Name)
	}
	return out
}

// The questions as models of the families make them.
const (
	gptQuestion    = `{"questions":[{"id":"db","header":"DB","question":"Which?","options":[{"label":"a"}]}]}`
	claudeQuestion = `{"questions":[{"question":"Which?","header":"DB","options":[{"label":"a"}],"multiSelect":false}]}`
)

func TestSpecs(t *testing.T) {
	set := all(t)
	tasks := "ask_user task check_task message_task cancel_task skill"
	gpt := strings.Replace(tasks, "ask_user", "request_user_input", 1)
	for _, tt := range []struct {
		family family.Family
		offer  family.Offer
		want   string
	}{
		{family.None, "", strings.Join(set.Names(), " ")},
		{family.Settle, "", "shell job read write edit glob grep plan " + tasks},
		{family.GPT, "", "exec_command write_stdin job apply_patch update_plan " + gpt},
		{family.Claude, "", "Bash job Read Write Edit Glob Grep TodoWrite AskUserQuestion Task " +
			"check_task message_task cancel_task Skill"},
		{family.GPT, family.Every, "exec_command write_stdin job read write edit apply_patch glob grep list update_plan " + gpt},
	} {
		got := family.New(tt.family, tt.offer, set).Specs()
		if diff := cmp.Diff(strings.Fields(tt.want), names(got)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.family, tt.offer, diff)
		}
		for _, s := range got {
			var schema struct {
				Type       string
				Properties map[string]any
				Required   []string
			}
			if err := json.Unmarshal(s.Schema, &schema); err != nil || schema.Type != "object" {
				t.Errorf("%s: the schema of %s is %s: %v", tt.family, s.Name, s.Schema, err)
			}
			for _, r := range schema.Required {
				if schema.Properties[r] == nil {
					t.Errorf("%s: %s needs %q, which it does not have", tt.family, s.Name, r)
				}
			}
		}
	}
}

// A program's own tool with one of settle's names stays unchanged.
func TestOwnTools(t *testing.T) {
	own, err := tool.New(
		"shell",
		"Mine.",
		func(_ context.Context, in struct{ Line string }) (string, error) { return in.Line, nil },
	)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(own)
	if err != nil {
		t.Fatal(err)
	}
	v := family.New(family.GPT, "", set)
	if got := names(v.Specs()); !slices.Equal(got, []string{"shell"}) {
		t.Errorf("offered %q", got)
	}
	if c := v.Read("exec_command", `{"cmd":"ls"}`); c.Err == nil {
		t.Errorf("read as %+v", c)
	}
}

// A model's call is read in settle's form, and can be restored byte for byte.
func TestRead(t *testing.T) {
	set := all(t)
	for _, tt := range []struct {
		family       family.Family
		name, sent   string
		tool, settle string
		verbatim     bool // the sent form must be kept
	}{
		{"gpt", "exec_command", `{"cmd":"ls"}`, "shell", `{"command":"ls","yield_ms":10000}`, false},
		{"gpt", "exec_command", `{ "cmd": "ls", "workdir": "/a" }`, "shell", `{ "command": "ls", "workdir": "/a", "yield_ms": 10000 }`, false},
		{"gpt", "exec_command", `{"cmd":"ls","yield_time_ms":500,"tty":true}`, "shell", `{"command":"ls","yield_ms":500,"tty":true}`, false},
		{"gpt", "exec_command", `{"cmd":"ls","yield_time_ms":10000}`, "shell", `{"command":"ls","yield_ms":10000}`, true},
		{"gpt", "exec_command", `{"cmd":"ls","login":true,"max_output_tokens":9}`, "shell", `{"command":"ls","yield_ms":10000}`, true},
		{"gpt", "exec_command", `{"command":"ls"}`, "shell", `{"command":"ls"}`, true},
		{"gpt", "shell", `{"command":"ls"}`, "shell", `{"command":"ls"}`, false},
		{"gpt", "write_stdin", `{"session_id":"j000001","chars":"y\n"}`, "job", `{"job":"j000001","input":"y\n","timeout_ms":250,"action":"write"}`, false},
		{"gpt", "write_stdin", `{"session_id":"j000001"}`, "job", `{"job":"j000001","timeout_ms":5000,"action":"read"}`, false},
		{"gpt", "apply_patch", `{"input":"*** Begin Patch"}`, "apply_patch", `{"input":"*** Begin Patch"}`, false},
		{"gpt", "update_plan", `{"plan":[]}`, "plan", `{"plan":[]}`, false},
		{"gpt", "request_user_input", gptQuestion, "ask_user", gptQuestion, false},
		{"claude", "AskUserQuestion", claudeQuestion, "ask_user", claudeQuestion, false},
		{"gpt", "container.exec", `{"command":["bash","-lc","ls | wc"]}`, "shell", `{"command":"ls | wc"}`, true},
		{"gpt", "container.exec", `{"command":["git","commit","-m","it's"]}`, "shell", `{"command":"git commit -m 'it'\\''s'"}`, true},
		{"gpt", "Bash", `{"command":"ls","timeout":5}`, "shell", `{"command":"ls","timeout_ms":5}`, false},
		{"claude", "Bash", `{"command": "ls", "description": "List"}`, "shell", `{"command": "ls", "description": "List"}`, false},
		{"claude", "Bash", `{"command":"ls","timeout":5000,"run_in_background":true}`, "shell", `{"command":"ls","timeout_ms":5000,"background":true}`, false},
		{"claude", "Bash", `{"command":"ls","dangerouslyDisableSandbox":true}`, "shell", `{"command":"ls","outside":true}`, false},
		{"claude", "Read", `{"file_path": "/a", "limit": 3}`, "read", `{"path": "/a", "limit": 3}`, false},
		{"claude", "Read", `{"path":"/a"}`, "read", `{"path":"/a"}`, true},
		{"claude", "read", `{"path":"/a"}`, "read", `{"path":"/a"}`, false},
		{"claude", "Write", `{"file_path":"/a","content":"<b> & \u00e9"}`, "write", `{"path":"/a","content":"<b> & \u00e9"}`, false},
		{"claude", "Edit", `{"file_path":"/a","old_string":"x","new_string":"y"}`, "edit", `{"path":"/a","old_string":"x","new_string":"y"}`, false},
		{"claude", "Grep", `{"pattern":"x"}`, "grep", `{"pattern":"x","show":"files"}`, false},
		{"claude", "Grep", `{"pattern":"x","output_mode":"content","-n":true,"-A":3,"-B":1}`, "grep", `{"pattern":"x","show":"lines","context":3}`, true},
		{"claude", "Grep", `{"pattern":"x","-i":true,"type":"go","output_mode":"count"}`, "grep", `{"pattern":"x","ignore_case":true,"show":"count","glob":"*.go"}`, true},
		{"claude", "Glob", `{"pattern":"*.go","path":"a"}`, "glob", `{"pattern":"*.go","path":"a"}`, false},
		{
			"claude", "TodoWrite", `{"todos":[{"content":"Do","status":"pending","activeForm":"Doing"}]}`,
			"plan", `{"plan":[{"step":"Do","status":"pending"}]}`, true,
		},
		{
			"claude", "Task", `{"description":"a","prompt":"b","subagent_type":"general-purpose","tools":["Read","Bash"]}`,
			"task", `{"description":"a","prompt":"b","tools":["read","shell"]}`, true,
		},
		{"claude", "BashOutput", `{"bash_id":"j000001"}`, "job", `{"job":"j000001","action":"read"}`, true},
		{"claude", "KillShell", `{"shell_id":"j000001"}`, "job", `{"job":"j000001","action":"kill"}`, true},
		{"claude", "str_replace_based_edit_tool", `{"command":"view","path":"a","view_range":[3,5]}`, "read", `{"path":"a","offset":3,"limit":3}`, true},
		{"claude", "str_replace_based_edit_tool", `{"command":"str_replace","path":"a","old_str":"b"}`, "edit", `{"path":"a","old_string":"b","new_string":""}`, true},
		{"claude", "str_replace_editor", `{"command":"create","path":"a","file_text":"b"}`, "write", `{"path":"a","content":"b"}`, true},
		{"claude", "Skill", `{"skill":"pdf","args":"a.pdf"}`, "skill", `{"name":"pdf","arguments":"a.pdf"}`, false},
		{"settle", "Read", `{"file_path":"a"}`, "read", `{"path":"a"}`, false},
		{"settle", "apply_patch", `{"input":"x"}`, "apply_patch", `{"input":"x"}`, false},
		{"", "read", `{"path":1}`, "read", `{"path":1}`, false},
	} {
		c := family.New(tt.family, "", set).Read(tt.name, tt.sent)
		if c.Err != nil || c.Name != tt.tool || c.Arguments != tt.settle {
			t.Errorf(
				"%s: %s %s is %s %s, want %s %s (%v)", tt.family, tt.name, tt.sent, c.Name, c.Arguments, tt.tool,
				tt.settle, c.Err,
			)
			continue
		}
		if err := set.Check(c.Name, json.RawMessage(c.Arguments)); err != nil && tt.family != "" {
			t.Errorf("%s: %s %s cannot be called: %v", tt.family, tt.name, tt.sent, err)
		}
		if kept := c.Sent != nil && c.Sent.Arguments != ""; kept != tt.verbatim {
			t.Errorf("%s: of %s %s, %+v is kept", tt.family, tt.name, tt.sent, c.Sent)
		}
		if name, args := family.Replay(c.Name, c.Arguments, c.Sent); name != tt.name || args != tt.sent {
			t.Errorf("%s: %s %s is said again as %s %s", tt.family, tt.name, tt.sent, name, args)
		}
	}
}

func TestRefused(t *testing.T) {
	set := all(t)
	for _, tt := range []struct {
		family     family.Family
		name, sent string
		want       string
	}{
		{"claude", "Edit", `{"file_path":"/a","old_string":"x"}`, `cannot call "Edit": missing: new_string`},
		{"claude", "Read", `{"offset":1}`, `cannot call "Read": missing: file_path`},
		{"gpt", "exec_command", `{"workdir":"/a"}`, `cannot call "exec_command": missing: cmd`},
		{"claude", "Grep", `{"pattern":"x","multiline":true}`, "only single lines are searched"},
		{"claude", "MultiEdit", `{"file_path":"a","edits":[]}`, "one call of Edit for each"},
		{"claude", "str_replace_based_edit_tool", `{"command":"insert","path":"a"}`, "view, create and str_replace"},
		{"claude", "NotebookEdit", `{}`, `there is no tool "NotebookEdit"; the tools are Bash, job, Read, Write, Edit`},
		{"gpt", "view_image", `{}`, "the tools are exec_command, write_stdin, job, apply_patch, update_plan"},
	} {
		c := family.New(tt.family, "", set).Read(tt.name, tt.sent)
		if c.Err == nil || !strings.Contains(c.Err.Error(), tt.want) {
			t.Errorf("%s: %s %s: %v, want %q", tt.family, tt.name, tt.sent, c.Err, tt.want)
		}
		if name, args := family.Replay(c.Name, c.Arguments, c.Sent); name != tt.name || args != tt.sent {
			t.Errorf("%s: %s %s is said again as %s %s", tt.family, tt.name, tt.sent, name, args)
		}
	}
}

// The history of one model is written in the form of another.
func TestWrite(t *testing.T) {
	for _, tt := range []struct {
		family     family.Family
		name, args string
		want, says string
	}{
		{"gpt", "shell", `{"command":"ls","timeout_ms":5,"description":"List"}`, "exec_command", `{"cmd":"ls"}`},
		{"gpt", "shell", `{"command":"serve","background":true}`, "exec_command", `{"cmd":"serve","yield_time_ms":250}`},
		{"claude", "shell", `{"command":"ls","workdir":"a b","yield_ms":10000}`, "Bash", `{"command":"cd 'a b' && ls"}`},
		{"gpt", "edit", `{"path":"a"}`, "edit", `{"path":"a"}`},
		{"gpt", "job", `{"action":"kill","job":"j1"}`, "job", `{"action":"kill","job":"j1"}`},
		{"gpt", "job", `{"action":"read","job":"j1"}`, "write_stdin", `{"session_id":"j1"}`},
		{"claude", "grep", `{"pattern":"x"}`, "Grep", `{"pattern":"x","output_mode":"content"}`},
		{"claude", "plan", `{"plan":[{"step":"a","status":"pending"}]}`, "TodoWrite", `{"todos":[{"content":"a","status":"pending","activeForm":"a"}]}`},
		{"claude", "task", `{"prompt":"a","tools":["read"],"background":true}`, "Task", `{"prompt":"a","tools":["Read"],"run_in_background":true}`},
		{"claude", "read", `not JSON`, "Read", `not JSON`},
		{"settle", "read", `{"path":"a"}`, "read", `{"path":"a"}`},
		{"", "read", `{"path":"a"}`, "read", `{"path":"a"}`},
		{"claude", "server__tool", `{}`, "server__tool", `{}`},
	} {
		if name, args := family.Write(tt.family, tt.name, tt.args); name != tt.want || args != tt.says {
			t.Errorf("%s: %s %s is %s %s, want %s %s", tt.family, tt.name, tt.args, name, args, tt.want, tt.says)
		}
	}
}

// FuzzRead: every call of a model can be restored byte for byte.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{`{"cmd":"ls"}`, `{ "file_path" : "a" , "limit":1 }`, `{}`, `[]`, ``, `{"a":{"b":[1,"\u0000"]},"a":1}`, `{"todos":[{}]}`} {
		for n := range seedNames() {
			f.Add(uint8(n), seed)
		}
	}
	set, err := tool.NewSet(
		slices.Concat(
			shell.NewJobs(shell.Config{}).Tools(),
			file.NewWorkspace(file.Config{}).Tools(),
			search.Tools(search.Config{}),
			[]tool.Tool{plan.New()},
		)...)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, n uint8, sent string) {
		name := seedNames()[int(n)%len(seedNames())]
		for _, of := range family.All() {
			c := family.New(of, "", set).Read(name, sent)
			if again, args := family.Replay(c.Name, c.Arguments, c.Sent); again != name || args != sent {
				t.Errorf("%s: %s %q is said again as %s %q", of, name, sent, again, args)
			}
			for _, other := range family.All() {
				family.Write(other, c.Name, c.Arguments)
			}
		}
	})
}

func seedNames() []string {
	return []string{
		"exec_command",
		"write_stdin",
		"Bash",
		"Grep",
		"TodoWrite",
		"Read",
		"BashOutput",
		"str_replace_editor",
		"container.exec",
		"shell",
		"nothing",
	}
}
