package family_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/settle-agent/settle/internal/config/claudecode"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/family"
)

// taskTool is a task tool with kinds of agents.
type taskTool struct{ kinds string }

func (k taskTool) Spec() tool.Spec {
	return tool.Spec{Name: "task", Schema: json.RawMessage(`{"type":"object","properties":{` +
		`"description":{"type":"string"},"prompt":{"type":"string"},"background":{"type":"boolean"},` +
		`"tools":{"type":"array"},"agent":{"type":"string","enum":` + k.kinds + `}}}`)}
}

func (taskTool) Run(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, nil }

// Claude Code's name for an agent without a definition is an agent of that name if there is one.
func TestPlainAgentWithDefinition(t *testing.T) {
	const sent = `{"description":"a","prompt":"b","subagent_type":"general-purpose"}`
	for kinds, want := range map[string]string{
		`["x"]`:                   `{"description":"a","prompt":"b"}`,
		`["general-purpose","x"]`: `{"description":"a","prompt":"b","agent":"general-purpose"}`,
	} {
		set, err := tool.NewSet(taskTool{kinds})
		if err != nil {
			t.Fatal(err)
		}
		if c := family.New("claude", "", set).Read("Task", sent); c.Err != nil || c.Arguments != want {
			t.Errorf("%s: %s, want %s (%v)", kinds, c.Arguments, want, c.Err)
		}
	}
}

// Hooks and rules know each tool under the name with which a model calls it.
func TestNamesAgreeWithHooksAndRules(t *testing.T) {
	for _, name := range []string{
		"Bash", "Read", "Write", "Edit", "MultiEdit", "Glob", "Grep", "LS", "TodoWrite", "AskUserQuestion",
		"ExitPlanMode", "Task", "Agent", "Skill", "WebFetch", "WebSearch", "BashOutput", "TaskOutput", "KillShell",
		"KillBash", "TaskStop",
	} {
		if got, want := claudecode.Tool(name), family.ToolOf(name); got != want || want == "" {
			t.Errorf("%s is %q in rules, %q in calls", name, got, want)
		}
	}
}
