package claude

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/model/script"
)

// A hook that only changes a call does not approve it: the changed call needs an approval. A call
// that the client allowed with changes runs once without another question.
func TestChangedCallKeepsItsQuestion(t *testing.T) {
	for _, c := range []struct {
		name, mode string
		hook       string // permissionDecision of the hook that changes a; "none" for no hook
		callback   bool   // canUseTool changes a
		questions  []string
		written    int
	}{
		{"hook changes", modeDefault, "", false, []string{"b", "b"}, 2},
		{"hook changes and asks", modeDefault, "ask", false, []string{"b", "b"}, 2},
		{"hook changes and allows", modeDefault, "allow", false, []string{"b"}, 2},
		{"hook changes in dontAsk", modeDont, "", false, nil, 0},
		{"hook changes and asks in dontAsk", modeDont, "ask", false, nil, 0},
		{"hook changes and allows in dontAsk", modeDont, "allow", false, nil, 1},
		{"callback changes", modeDefault, "none", true, []string{"a", "b"}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			write := func(name string) script.Step {
				return script.Turn(script.Call("write", fmt.Sprintf(`{"path":%q,"content":"x"}`, name)))
			}
			dir := ""
			s := serve(t, func(o *Config) { o.Asks, o.Mode, dir = true, c.mode, o.Dir },
				write("a"), write("b"), write("b"), script.Text("done"))
			changed := fmt.Sprintf(`{"file_path":%q,"content":"x"}`, filepath.Join(dir, "b"))
			if c.hook != "none" {
				s.say(control("1", `{"subtype":"initialize",`+
					`"hooks":{"PreToolUse":[{"matcher":"Write","hookCallbackIds":["h"]}]}}`))
			}
			s.say(user("go", uuid1))
			var questions []string
			written := 0
			for over := false; !over; {
				m := <-s.output
				if raw, _ := json.Marshal(m); is(m, "user") {
					written += strings.Count(string(raw), `"is_error":false`)
				}
				request, _ := m["request"].(map[string]any)
				input, _ := request["input"].(map[string]any)
				isHook := request["subtype"] == "hook_callback"
				if isHook {
					input, _ = input["tool_input"].(map[string]any)
				}
				name := filepath.Base(fmt.Sprint(input["file_path"]))
				answer := `{}`
				switch {
				case isHook && name == "a":
					answer = fmt.Sprintf(`{"hookSpecificOutput":{"hookEventName":"PreToolUse",`+
						`"permissionDecision":%q,"updatedInput":%s}}`, c.hook, changed)
				case request["subtype"] == "can_use_tool":
					questions = append(questions, name)
					if answer = `{"behavior":"allow"}`; c.callback && name == "a" {
						answer = `{"behavior":"allow","updatedInput":` + changed + `}`
					}
				}
				switch {
				case request != nil:
					s.say(fmt.Sprintf(
						`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":%s}}`,
						m["request_id"], answer,
					))
				case m == nil || is(m, "result"):
					over = true
				}
			}
			if !slices.Equal(questions, c.questions) || written != c.written {
				t.Errorf("asked about %q, wrote %d times; want %q, %d", questions, written, c.questions, c.written)
			}
		})
	}
}

// An agreement ends with its turn: the client is asked about the same call of the next turn.
func TestAgreementEndsWithTurn(t *testing.T) {
	write := func(name string) script.Step {
		return script.Turn(script.Call("write", fmt.Sprintf(`{"path":%q,"content":"x"}`, name)))
	}
	dir := ""
	s := serve(t, func(o *Config) { o.Asks, o.Mode, dir = true, modeDefault, o.Dir },
		write("a"), script.Text("done"), write("b"), script.Text("done"))
	changed := fmt.Sprintf(`{"file_path":%q,"content":"x"}`, filepath.Join(dir, "b"))
	var questions []string
	for _, id := range []string{uuid1, uuid2} {
		s.say(user("go", id))
		for over := false; !over; {
			m := <-s.output
			request, _ := m["request"].(map[string]any)
			if request["subtype"] == "can_use_tool" {
				input, _ := request["input"].(map[string]any)
				name, answer := filepath.Base(fmt.Sprint(input["file_path"])), `{"behavior":"allow"}`
				if questions = append(questions, name); name == "a" {
					answer = `{"behavior":"allow","updatedInput":` + changed + `}`
				}
				s.say(fmt.Sprintf(
					`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":%s}}`,
					m["request_id"], answer,
				))
			}
			over = m == nil || is(m, "result")
		}
	}
	if !slices.Equal(questions, []string{"a", "b"}) {
		t.Errorf("it asked about %q", questions)
	}
}
