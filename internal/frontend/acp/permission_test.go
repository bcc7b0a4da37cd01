package acp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/model/script"
)

func writes(name string) script.Step {
	return script.Call("write", fmt.Sprintf(`{"path":%q,"content":"x"}`, name))
}

func (c *client) wrote(name string) bool {
	_, err := os.Stat(filepath.Join(c.Dir, name))
	return err == nil
}

func TestPermission(t *testing.T) {
	selected := func(option string) any {
		return object{"outcome": object{"outcome": "selected", "optionId": option}}
	}
	tests := []struct {
		name      string
		answer    any
		err       error
		want      string // stop reason
		wrote     bool
		modelText string // to the model
	}{
		{name: "allowed", answer: selected("allow"), want: "end_turn", wrote: true},
		{name: "allowed for the session", answer: selected("allow-session"), want: "end_turn", wrote: true},
		{name: "to be explained", answer: selected("explain"), want: "end_turn", modelText: "First explain"},
		{name: "rejected", answer: selected("reject"), want: "end_turn", modelText: "did not allow"},
		{name: "nonsense", answer: selected("perhaps"), want: "end_turn", modelText: "was not offered"},
		{name: "cancelled", answer: object{"outcome": object{"outcome": "cancelled"}}, want: "cancelled"},
		{
			name: "cancelled, as a request",
			err:  &jsonrpc.Error{Code: jsonrpc.CodeCancelled, Message: "Request cancelled"},
			want: "cancelled",
		},
		{
			name:      "failed",
			err:       &jsonrpc.Error{Code: -32603, Message: "the window is gone"},
			want:      "end_turn",
			modelText: "the window is gone",
		},
		{name: "no answer at all", answer: "?", want: "end_turn", modelText: "could not ask"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := start(t, script.New(writes("a.txt"), script.Text("done")))
			c.Answer("session/request_permission", func(json.RawMessage) (any, error) { return test.answer, test.err })
			if got := wait(c, c.prompt(c.open(), "go")); got != test.want {
				t.Errorf("ended with %q, want %q", got, test.want)
			}
			if c.wrote("a.txt") != test.wrote {
				t.Errorf("written: %v", !test.wrote)
			}
			requests := c.model.Requests()
			if said := fmt.Sprintf("%+v", requests[len(requests)-1]); !strings.Contains(said, test.modelText) {
				t.Errorf("the model was not told %q, but %s", test.modelText, said)
			}
		})
	}
}

func TestPermissionForTheSession(t *testing.T) {
	c := start(t, script.New(writes("a.txt"), writes("a.txt"), script.Text("done")))
	asked := 0
	c.Answer("session/request_permission", func(json.RawMessage) (any, error) {
		asked++
		return object{"outcome": object{"outcome": "selected", "optionId": "allow-session"}}, nil
	})
	if got := wait(c, c.prompt(c.open(), "go")); got != "end_turn" || asked != 1 {
		t.Errorf("ended with %q, asked %d times", got, asked)
	}
}

// A client that cancels answers the request as well; in which order does not
// matter, nor whether it does.
func TestCancelWhileItAsks(t *testing.T) {
	for _, order := range []string{"cancel, then answer", "answer, then cancel", "cancel alone"} {
		t.Run(order, func(t *testing.T) {
			c := start(t, script.New(writes("a.txt"), script.Text("done")))
			session := c.open()
			c.Answer("session/request_permission", func(json.RawMessage) (any, error) {
				if order != "answer, then cancel" {
					c.cancel(session)
				}
				if order == "cancel alone" {
					return nil, nil
				}
				return object{"outcome": object{"outcome": "cancelled"}}, nil
			})
			ended := c.prompt(session, "go")
			if order == "answer, then cancel" {
				c.seen("session/request_permission")
				c.cancel(session)
			}
			if got := wait(c, ended); got != "cancelled" || c.wrote("a.txt") {
				t.Errorf("ended with %q, written: %v", got, c.wrote("a.txt"))
			}
			if order == "cancel alone" {
				c.seen("$/cancel_request") // so that it takes the question away
			}
		})
	}
}

func TestModes(t *testing.T) {
	tests := []struct {
		mode      string
		questions int
		wrote     bool
	}{{"ask", 1, false}, {"accept-edits", 0, true}, {"allow", 0, true}, {"read-only", 0, false}}
	for _, test := range tests {
		t.Run(test.mode, func(t *testing.T) {
			c := start(t, script.New(writes("a.txt"), script.Text("done")))
			asked := 0
			c.Answer("session/request_permission", func(json.RawMessage) (any, error) {
				asked++
				return object{"outcome": object{"outcome": "selected", "optionId": "reject"}}, nil
			})
			session := c.open()
			c.Must("session/set_mode", object{"sessionId": session, "modeId": test.mode})
			if got := wait(c, c.prompt(session, "go")); got != "end_turn" || asked != test.questions ||
				c.wrote("a.txt") != test.wrote {
				t.Errorf("ended with %q, asked %d times, written: %v", got, asked, c.wrote("a.txt"))
			}
		})
	}
}

func TestOptions(t *testing.T) {
	c := start(t, script.New(writes("a.txt"), script.Text("done")))
	opened := c.Must("session/new", object{"cwd": c.Dir, "mcpServers": []any{}})
	session := opened["sessionId"].(string)
	current := func(result map[string]any, id string) any {
		for _, option := range list(result["configOptions"]) {
			if option["id"] == id {
				return option["currentValue"]
			}
		}
		return nil
	}
	if current(opened, "mode") != "ask" || current(opened, "model") != "script/m" ||
		current(opened, "effort") != "default" {
		t.Errorf("at first: %v", opened["configOptions"])
	}
	set := func(id string, value any) object { return object{"sessionId": session, "configId": id, "value": value} }
	if got := c.Must("session/set_config_option", set("effort", "high")); current(got, "effort") != "high" {
		t.Errorf("effort: %v", got)
	}
	if got := c.Must("session/set_config_option", set("mode", "allow")); current(got, "mode") != "allow" {
		t.Errorf("mode: %v", got)
	}
	c.seen(`"current_mode_update","currentModeId":"allow"`[:20])
	for _, bad := range []object{set("mode", "none"), set("effort", "very"), set("nothing", "x"), set("mode", true)} {
		c.Refused(jsonrpc.CodeInvalidParams, "session/set_config_option", bad)
	}
	c.Refused(jsonrpc.CodeInvalidParams, "session/set_mode", object{"sessionId": session, "modeId": "none"})
	if got := wait(c, c.prompt(session, "go")); got != "end_turn" || !c.wrote("a.txt") {
		t.Errorf("ended with %q", got)
	}
	if effort := c.model.Requests()[0].Effort; effort != "high" {
		t.Errorf("the model was asked with effort %q", effort)
	}
	if got := c.Must("session/set_config_option", set("effort", "default")); current(got, "effort") != "default" ||
		current(got, "mode") != "allow" {
		t.Errorf("back: %v", got)
	}
}
