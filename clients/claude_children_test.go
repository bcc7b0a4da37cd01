//go:build clients && linux

package clients

import (
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// The client receives the calls of a child agent with the call that started it in
// parent_tool_use_id, between that call and its result; it receives the child's texts only with
// forwardSubagentText.
func TestClaudeChildren(t *testing.T) {
	for options, want := range map[string][]string{
		`{"permissionMode":"bypassPermissions"}`:                            {"call Bash", "result"},
		`{"permissionMode":"bypassPermissions","forwardSubagentText":true}`: {"text look there", "call Bash", "result", "text It is blue."},
	} {
		srv := modeltest.NewServer(t, modeltest.Script(
			modeltest.Reply(modeltest.Call("task", `{"description":"look","prompt":"look there"}`)),
			modeltest.Reply(modeltest.Call("shell", `{"command":"echo there"}`)).For("look there"),
			modeltest.Say("It is blue.").For("look there"),
			modeltest.Say("So it is."),
		))
		talk := agentSDK(t, srv, "query", options).talk(t)
		talk.results(t, "success")
		var got []string
		call, open := "", false
		for _, s := range talk.all {
			if s.Type != "assistant" && s.Type != "user" {
				continue
			}
			for _, p := range s.parts(t) {
				switch {
				case s.Parent == "" && p.Name == "Task":
					call, open = p.ID, true
				case s.Parent == "" && p.Call == call && p.Type == "tool_result":
					open = false
					if !strings.Contains(p.Content, "It is blue.") {
						t.Errorf("the result is %q", p.Content)
					}
				case s.Parent != "":
					if s.Parent != call || !open || s.Agent == "" {
						t.Errorf(
							"%s: a message of %q, agent %q, outside of the call %q", options, s.Parent, s.Agent, call,
						)
					}
					got = append(
						got,
						strings.TrimSpace(
							map[string]string{"tool_use": "call " + p.Name, "tool_result": "result", "text": "text " + p.Text}[p.Type],
						),
					)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the child told %q, want %q", options, got, want)
		}
	}
}
