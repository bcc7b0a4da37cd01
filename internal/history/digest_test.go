package history_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"
)

// story is a session under way.
type story struct {
	t     *testing.T
	state event.State
}

func (s *story) add(events ...event.Event) {
	s.t.Helper()
	for _, e := range events {
		e.Session, e.Seq = "s1", s.state.Seq+1
		var err error
		if s.state, err = event.Fold(s.state, e); err != nil {
			s.t.Fatal(err)
		}
	}
}

// turn is a turn for the input, with the calls, that ends with the cause.
func (s *story) turn(input string, c *event.Cause, calls ...event.ItemEnded) {
	s.t.Helper()
	id, n := s.state.NextTurn(), s.state.NextInput()
	a := s.state.NextAttempt()
	s.add(event.Event{Data: event.InputAccepted{Input: n, Text: input}},
		event.Event{Turn: id, Data: event.TurnStarted{Inputs: []string{n}}},
		event.Event{Turn: id, Attempt: a, Data: event.AttemptStarted{Step: 1, N: 1}})
	for _, call := range calls {
		item := s.state.NextItem(0)
		call.Type = event.ToolCall
		at := func(d event.Data) event.Event { return event.Event{Turn: id, Attempt: a, Item: item, Data: d} }
		s.add(
			at(event.ItemStarted{Type: event.ToolCall, Name: call.Name}),
			at(event.CallReady{Name: call.Name, Arguments: call.Arguments}),
			at(event.CallStarted{}),
			at(call),
		)
	}
	s.add(event.Event{Turn: id, Attempt: a, Data: event.AttemptEnded{Outcome: event.Completed}})
	if c != nil {
		s.add(event.Endings(s.state, c)...)
	}
}

func call(name, args, detail string) event.ItemEnded {
	return event.ItemEnded{
		Status:  event.ItemCompleted,
		Content: event.Content{Name: name, Arguments: args, Detail: json.RawMessage(detail)},
	}
}

func newStory(t *testing.T) *story {
	s := &story{t: t}
	s.add(event.Event{Data: event.SessionOpened{Dir: "/work"}})
	return s
}

const helloSum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" // of "hello"

func TestText(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"same.go": "hello", "other.go": "somebody else"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newStory(t)
	run := call("shell", `{"command":"go test ./...\n"}`, "")
	run.ExitCode = new(1)
	s.turn(
		"Fix the test.",
		event.Complete(),
		call("read", `{"path":"same.go"}`, fmt.Sprintf(`{"read":{"path":"same.go","sha256":%q}}`, helloSum)),
		call("read", `{"path":"other.go"}`, fmt.Sprintf(`{"read":{"path":"./other.go","sha256":%q}}`, helloSum)),
		call(
			"edit",
			`{}`,
			fmt.Sprintf(
				`{"files":[{"path":"other.go","kind":"update","sha256":%q},{"path":"gone.go","kind":"delete"}]}`,
				helloSum,
			),
		),
		run,
	)
	cut := call("shell", `{"command":"sleep 1"}`, "")
	cut.Status, cut.Effects, cut.Cause = event.ItemAborted, event.EffectsPartial, event.Abort(event.Interrupted, "user")
	s.turn("Never touch main.", event.Abort(event.Interrupted, "user"), cut)
	s.add(
		event.Event{Data: event.JobStarted{Job: "j1", PID: 7, Command: "server", Log: "/tmp/j1"}},
		event.Event{
			Data: event.ChildStarted{Child: "c1", Session: "s2", Title: "look"},
		},
		event.Event{Data: event.ChildStarted{Child: "c2", Session: "s3", Title: "try"}},
		event.Event{
			Data: event.ChildEnded{Child: "c1", Outcome: event.Aborted, Cause: event.AbortLimit(event.LimitSteps, "")},
		},
		event.Event{
			Data: event.InputAccepted{Input: "later", Text: "And the docs."},
		},
		event.Event{Data: event.InputHeld{Input: "later"}},
	)
	l := history.Read(s.state, history.Scope{})
	l.Check(t.Context(), dir)
	want := `User messages, in order:
1. [n000001] Fix the test.
2. [n000002, its turn ended: interrupted] Never touch main.

Sent by the user and still waiting:
1. [later, held: it runs with the next message] And the docs.

Files:
- same.go: read, sha256 2cf24dba, unchanged since
- other.go: read, written, sha256 2cf24dba, changed since by another program
- gone.go: deleted

Commands that ran:
- exit 1: go test ./...
- interrupted: sleep 1

Jobs that run now:
- job j1, pid 7: server (output in /tmp/j1)

Child agents:
- c1 (look), session s2: the limit on steps was reached
- c2 (try), session s3: runs in the background
`
	if diff := cmp.Diff(want, l.Text(1<<20)); diff != "" {
		t.Error(diff)
	}
}

// TestTextFits: it keeps within its room, and every input is there as long as that
// can be.
func TestTextFits(t *testing.T) {
	s := newStory(t)
	for n := range 40 {
		s.turn(
			fmt.Sprintf("request %d %s end %d", n, strings.Repeat("x", 5000), n),
			event.Complete(),
			call("shell", fmt.Sprintf(`{"command":"make %d"}`, n), ""),
		)
	}
	l := history.Read(s.state, history.Scope{})
	for _, room := range []int{300_000, 100_000, 30_000, 12_000} {
		text := l.Text(room)
		if len(text) > room {
			t.Errorf("%d bytes in a room of %d", len(text), room)
		}
		for n := range 40 {
			if !strings.Contains(text, fmt.Sprintf("request %d ", n)) {
				t.Errorf("in %d bytes, request %d is missing", room, n)
			}
		}
	}
	if text := l.Text(2000); len(text) > 2000 || !strings.Contains(text, "request 0 ") ||
		!strings.Contains(text, "request 39 ") ||
		!strings.Contains(text, "messages are omitted here") {
		t.Errorf("in 2,000 bytes:\n%s", text)
	}
}

// TestPlan: the digest has the last accepted plan unless all its steps are completed. A small text
// omits completed steps.
func TestPlan(t *testing.T) {
	s := newStory(t)
	planned := func(states ...string) event.ItemEnded {
		var steps []string
		for n, state := range states {
			steps = append(steps, fmt.Sprintf(`{"step":"step %d","status":%q}`, n+1, state))
		}
		return call("plan", `{"plan":[`+strings.Join(steps, ",")+`]}`, "")
	}
	refused := planned("pending")
	refused.Status = event.ItemFailed
	s.turn(
		"go",
		event.Complete(),
		planned("pending", "pending"),
		planned("completed", "in_progress", "pending"),
		refused,
	)
	want := `User messages, in order:
1. [n000001] go

Your plan, 1 of 3 steps done:
1. [completed] step 1
2. [in_progress] step 2
3. [pending] step 3
`
	if diff := cmp.Diff(want, history.Read(s.state, history.Scope{}).Text(1<<20)); diff != "" {
		t.Error(diff)
	}
	var many []string
	for n := range 100 {
		many = append(many, []string{"completed", "pending"}[n/50])
	}
	s.turn("more", event.Complete(), planned(many...))
	text := history.Read(s.state, history.Scope{}).Text(1200)
	if len(text) > 1200 || strings.Contains(text, "[completed]") ||
		!strings.Contains(text, "51. [pending] step 51\n") ||
		!strings.Contains(text, "50 of 100 steps done") {
		t.Errorf("in 1,200 bytes:\n%s", text)
	}
	s.turn("done", event.Complete(), planned("completed", "completed"))
	if l := history.Read(s.state, history.Scope{}); l.Plan != nil {
		t.Errorf("a plan that is done: %v", l.Plan)
	}
}

// TestScope: the digest leaves out the kept part of the history, and the parts that the provider
// refused.
func TestScope(t *testing.T) {
	s := newStory(t)
	for n := range 4 {
		s.turn(fmt.Sprintf("request %d", n), event.Complete())
	}
	s.turn("now", nil)
	said := func(scope history.Scope) (out []string) {
		for _, i := range history.Read(s.state, scope).Inputs {
			out = append(out, i.Text)
			if i.Omitted {
				out[len(out)-1] = "omitted"
			}
		}
		return out
	}
	third := s.state.Turns[2].ID
	for name, tc := range map[string]struct {
		scope history.Scope
		want  []string
	}{
		"all but the turn that runs": {history.Scope{}, []string{"request 0", "request 1", "request 2", "request 3"}},
		"before a turn":              {history.Scope{From: &event.Place{Turn: third}}, []string{"request 0", "request 1"}},
		"within a turn":              {history.Scope{From: &event.Place{Turn: third, Attempts: 1}}, []string{"request 0", "request 1", "request 2"}},
		"from a turn on":             {history.Scope{First: 3}, []string{"request 3"}},
		"refused":                    {history.Scope{Omit: map[string]bool{s.state.Turns[1].Inputs[0].ID: true}}, []string{"request 0", "omitted", "request 2", "request 3"}},
	} {
		if diff := cmp.Diff(tc.want, said(tc.scope)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
