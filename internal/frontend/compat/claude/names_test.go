package claude

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Clients see Claude's names, and settle translates their names back.
func TestNamesOfTools(t *testing.T) {
	for _, c := range []struct{ tool, arguments, claude, input, back string }{
		{"shell", `{"command":"ls","timeout_ms":5000,"background":true}`, "Bash", `{"command":"ls","run_in_background":true,"timeout":5000}`, `{"background":true,"command":"ls","timeout_ms":5000}`},
		{"read", `{"path":"a/b.go","offset":3}`, "Read", `{"file_path":"/w/a/b.go","offset":3}`, `{"offset":3,"path":"/w/a/b.go"}`},
		{"read", `{"path":"/etc/hosts"}`, "Read", `{"file_path":"/etc/hosts"}`, `{"path":"/etc/hosts"}`},
		{"write", `{"path":"a","content":"<x>"}`, "Write", `{"content":"<x>","file_path":"/w/a"}`, `{"content":"<x>","path":"/w/a"}`},
		{"edit", `{"path":"a","old_string":"x","new_string":"y","replace_all":true}`, "Edit", `{"file_path":"/w/a","new_string":"y","old_string":"x","replace_all":true}`, `{"new_string":"y","old_string":"x","path":"/w/a","replace_all":true}`},
		{"glob", `{"pattern":"*.go","path":"sub"}`, "Glob", `{"path":"/w/sub","pattern":"*.go"}`, `{"path":"/w/sub","pattern":"*.go"}`},
		{"grep", `{"pattern":"x","ignore_case":true,"context":2,"limit":7}`, "Grep", `{"-C":2,"-i":true,"head_limit":7,"output_mode":"content","pattern":"x"}`, `{"context":2,"ignore_case":true,"limit":7,"pattern":"x"}`},
		{"list", `{}`, "LS", `{}`, `{}`},
		{
			"plan", `{"plan":[{"step":"Look.","status":"pending"},7]}`,
			"TodoWrite", `{"todos":[{"activeForm":"Look.","content":"Look.","status":"pending"},7]}`, `{"plan":[{"status":"pending","step":"Look."},7]}`,
		},
		{
			"task", `{"agent":"look","description":"d","prompt":"p"}`,
			"Task", `{"description":"d","prompt":"p","subagent_type":"look"}`,
			`{"agent":"look","description":"d","prompt":"p"}`,
		},
		{
			"task", `{"description":"d","prompt":"p"}`,
			"Task", `{"description":"d","prompt":"p","subagent_type":"general-purpose"}`,
			`{"description":"d","prompt":"p"}`,
		},
		{"job", `{"action":"list"}`, "Job", `{"action":"list"}`, `{"action":"list"}`},
		{"mine", `{"n":12345678901234567890}`, "mine", `{"n":12345678901234567890}`, `{"n":12345678901234567890}`},
		{"shell", `{"command":`, "Bash", `{"arguments":"{\"command\":"}`, ""},
	} {
		a := aliasOf(c.tool)
		in := a.input(c.arguments, "/w")
		if a.claude != c.claude || compact(in) != c.input {
			t.Errorf("%s %s is %s %s, want %s %s", c.tool, c.arguments, a.claude, compact(in), c.claude, c.input)
		}
		if got := a.arguments(in); c.back != "" && got != c.back {
			t.Errorf("%s %s comes back as %s, want %s", c.claude, c.input, got, c.back)
		}
	}
}

func TestToolsNamed(t *testing.T) {
	for name, want := range map[string][]string{
		"Bash": {"shell"}, "Edit": {"edit", "apply_patch"}, "Write": {"write", "apply_patch"}, "MultiEdit": {"edit", "apply_patch"},
		"KillShell": {"job"}, "LS": {"list"}, "WebFetch": {"web_fetch"}, "shell": nil,
	} {
		if diff := cmp.Diff(want, toolsNamed(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestHookMatchers(t *testing.T) {
	for _, c := range []struct {
		matcher, tool string
		want          bool
	}{
		{"", "shell", true},
		{"*", "read", true},
		{"Bash", "shell", true},
		{"Bash", "read", false},
		{"Write|Edit", "edit", true},
		{"Edit", "apply_patch", true},
		{"Ba.*", "shell", true},
		{"ash", "shell", false},
		{"(", "shell", false},
	} {
		if got := (matcher{Matcher: c.matcher}).matches(aliasOf(c.tool)); got != c.want {
			t.Errorf("%q matches %s: %t", c.matcher, c.tool, got)
		}
	}
}
