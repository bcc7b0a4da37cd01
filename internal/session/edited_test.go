package session_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// echo is a tool that returns its arguments.
type echo struct{}

func (echo) Spec() tool.Spec {
	return tool.Spec{Name: "look", Description: "echoes", Schema: []byte(
		`{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false}`,
	)}
}

func (echo) Run(_ context.Context, c tool.Call) (tool.Result, error) {
	return tool.Result{Output: "ran " + string(c.Args)}, nil
}

// denyTwo denies calls with the argument 2, and asks about all others.
type denyTwo struct{ isPending }

func (j *denyTwo) Judge(call approval.Call) approval.Judgement {
	if strings.Contains(call.Arguments, "2") {
		return approval.Judgement{Decision: event.Deny, Rule: "rule 1", Why: "2 is denied"}
	}
	return j.isPending.Judge(call)
}

// A person can change a call before it runs. The log has the change and the hash of the arguments
// that ran, and the model reads the change; rules that deny and the tool's schema apply to the
// changed call.
func TestEditedCall(t *testing.T) {
	for name, tc := range map[string]struct{ arguments, output, sent string }{
		"changed": {`{"a":3}`, `ran {"a":3}`, `[The user changed this call. It ran with these arguments: {"a":3}]`},
		"denied":  {`{"a":2}`, "2 is denied", "2 is denied"},
		"invalid": {`{"b":3}`, "not valid", "not valid"},
	} {
		bubble(t, name, func(t *testing.T) {
			m := script.New(script.Turn(script.Call("look", `{"a":1}`)), script.Text("done"))
			b := attendedBy(t, &denyTwo{isPending{remembered: map[string]bool{}}}, echo{}, m)
			b.submit("a", "")
			synctest.Wait()
			err := b.Answer(t.Context(), approval.Answer{
				Approval: "p000001", Verdict: event.Approved, By: "user", Arguments: tc.arguments,
			})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			state := b.state()
			item := state.Turns[0].Items[0]
			if got := item.Content().Output; !strings.Contains(got, tc.output) {
				t.Errorf("the output is %q", got)
			}
			ended := state.Turns[0].Approvals[0].Ended
			if ended.Arguments != tc.arguments ||
				ended.SHA256 != fmt.Sprintf("%x", sha256.Sum256([]byte(tc.arguments))) {
				t.Errorf("the answer is recorded as %+v", ended)
			}
			if ran := name == "changed"; item.Edited != ran || ran && item.Content().RanWith() != tc.arguments {
				t.Errorf("edited %v, with %s", item.Edited, item.Content().RanWith())
			}
			requests := m.Requests()
			if last := fmt.Sprint(requests[len(requests)-1]); !strings.Contains(last, tc.sent) {
				t.Errorf("the model received %s", last)
			}
			check(t, b)
		})
	}
}

// An answer that does not run the call cannot change it, and the question stays open.
func TestEditedCallRefused(t *testing.T) {
	bubble(t, "refused", func(t *testing.T) {
		b := attended(t, look())
		b.submit("a", "")
		synctest.Wait()
		for want, given := range map[string]approval.Answer{
			"only an approval runs it":   {Verdict: event.Denied, Arguments: `{"a":2}`},
			"its arguments are not JSON": {Verdict: event.Approved, Arguments: `{`},
			"in place of a secret":       {Verdict: event.Approved, Arguments: `{"a":"` + redact.Mask + `"}`},
			"the answer \"denied\"":      {Verdict: event.Approved, Explain: true},
			"without a message":          {Verdict: event.Denied, Explain: true, Message: "now"},
			"too long to be shown":       {Verdict: event.Approved, Arguments: `"` + strings.Repeat("x", 1<<20) + `"`},
		} {
			given.Approval, given.By = "p000001", "user"
			if err := b.Answer(t.Context(), given); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%.40s: %v", given.Arguments, err)
			}
		}
		if err := b.Answer(t.Context(), answer("p000001", event.ApprovalAborted, "user")); err != nil {
			t.Error(err)
		}
	})
}

// check compares the log of the session with the contract.
func check(t *testing.T, b *bench) {
	t.Helper()
	var events []event.Event
	for e, err := range b.Log().Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if events = append(events, e); e.Seq == b.Log().Seq() {
			break
		}
	}
	if err := contract.Check(events); err != nil {
		t.Error(err)
	}
}
