package settle_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/task"
)

// denyingJudge is a program's judge that denies every call but child agents.
type denyingJudge struct{}

func (denyingJudge) Judge(c settle.Approval) settle.Judgement {
	if c.Tool.Name == task.Name {
		return settle.Judgement{Decision: settle.Allow}
	}
	return settle.Judgement{Decision: settle.Deny, Rule: "program", Why: "the program says so"}
}

func (denyingJudge) Remember(settle.Approval) {}

// A kind never loosens the permission or the judge of the parent.
func TestKindKeepsParentPermission(t *testing.T) {
	for name, change := range map[string]func(*settle.SessionConfig){
		"permission": func(c *settle.SessionConfig) { c.Permission = settle.Deny },
		"judge": func(c *settle.SessionConfig) {
			c.Permission = settle.Ask
			c.Judge = func() (settle.Judge, error) { return denyingJudge{}, nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFamily(map[string][]script.Step{
				"root": {script.Turn(spawn("one", `"agent":"k"`)), script.Text("ok")},
				"one":  {script.Turn(script.Call("touch", `{}`)), script.Text("ok")},
			})
			var asked atomic.Int32
			host, store := clan(t, f, func(c *settle.SessionConfig) {
				c.Tools = []tool.Tool{toucher(t)}
				c.Tasks.Kinds = []task.Kind{{Source: event.AgentSource{Name: "k"}, About: "x", Permission: settle.Ask}}
				c.Approver = approverFunc(func(context.Context, settle.Approval) error {
					asked.Add(1)
					return nil
				})
				change(c)
			})
			if _, err := newSession(t, host, "p").Run(t.Context(), "root"); err != nil {
				t.Fatal(err)
			}
			closed(t, host, store)
			if got := f.last("one"); asked.Load() > 0 || !strings.Contains(got, "not allowed") {
				t.Errorf("asked %d times, told:\n%s", asked.Load(), got)
			}
		})
	}
}

// approverFunc is an approver in one function.
type approverFunc func(context.Context, settle.Approval) error

func (f approverFunc) Approve(ctx context.Context, a settle.Approval) error { return f(ctx, a) }

// A tool that a kind takes away cannot be called through the tool that calls tools.
func TestKindRemovesCalledTools(t *testing.T) {
	type arguments struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
	}
	call, err := tool.New("tool_call", "calls a tool", func(_ context.Context, in arguments) (string, error) {
		return "called " + in.Name, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f := newFamily(map[string][]script.Step{
		"root": {script.Turn(spawn("one", `"agent":"k"`)), script.Text("ok")},
		"one": {
			script.Turn(
				script.Call("tool_call", `{"name":"github__merge"}`), script.Call("tool_call", `{"name":"git__log"}`),
			),
			script.Text("ok"),
		},
	})
	host, store := clan(t, f, func(c *settle.SessionConfig) {
		c.Tools = []tool.Tool{call}
		c.Tasks.Kinds = []task.Kind{{Source: event.AgentSource{Name: "k"}, About: "x", Without: []string{"github__*"}}}
	})
	if _, err := newSession(t, host, "p").Run(t.Context(), "root"); err != nil {
		t.Fatal(err)
	}
	closed(t, host, store)
	var results []string
	requests := f.scripts["one"].Requests()
	for _, i := range requests[len(requests)-1].Input {
		results = append(results, i.Text)
	}
	got := strings.Join(results, "\n")
	if strings.Contains(got, "called github__merge") || !strings.Contains(got, "do not have this tool") ||
		!strings.Contains(got, "called git__log") {
		t.Errorf("the results are:\n%s", got)
	}
}
