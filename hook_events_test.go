package settle_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
	askuser "github.com/settle-agent/settle/tool/ask"
)

// noted is a hook that records its run, and then runs more.
func noted(e event.HookEvent, more string) settle.Hook {
	return settle.Hook{Event: e, Command: "cat >/dev/null; echo " + string(e) + " >> ran; " + more}
}

// ran returns the hooks that ran, in order.
func (b *hookBench) ran() string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, "ran"))
	if err != nil && !os.IsNotExist(err) {
		b.t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

// attend answers the session's requests, with the content if there is one, after the notification of each has ended, until the
// turn has ended.
func (b *hookBench) attend(content ...json.RawMessage) {
	b.t.Helper()
	approval, notified := "", false
	for e, err := range b.session.Events(b.t.Context(), 0) {
		if err != nil {
			b.t.Fatal(err)
		}
		switch d := e.Data.(type) {
		case event.ApprovalRequested:
			approval = d.Approval
		case event.HookStarted:
			notified = d.Event == event.HookNotification
		case event.HookEnded:
			if notified {
				answer := settle.Answer{Approval: approval, Verdict: event.Approved, By: "user"}
				if len(content) > 0 {
					answer.Content = content[0]
				}
				if err := b.session.Answer(b.t.Context(), answer); err != nil {
					b.t.Fatal(err)
				}
			}
		case event.TurnCompleted, event.TurnAborted, event.TurnFailed:
			return
		}
	}
}

// A call that needs approval runs PermissionRequest and Notification, each once. A blocking
// hook that fails or hangs denies without a request.
func TestHooksOfAnApproval(t *testing.T) {
	for _, c := range []struct {
		name, more, want string
		limit            time.Duration
		runs             bool
	}{
		{"it says nothing", "true", "PermissionRequest Notification", 0, true},
		{"it fails", "exit 1", "PermissionRequest", 0, false},
		{"it denies", "exit 2", "PermissionRequest", 0, false},
		{"it hangs", "exec sleep 86395", "PermissionRequest", time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			gate := noted(event.HookPermission, c.more)
			gate.Timeout = c.limit
			b := newHookBench(t, shellCall("ls"), func(s *settle.SessionConfig) {
				s.Permission, s.Attended = settle.Ask, true
			}, gate, noted(event.HookNotification, ""))
			if _, err := b.session.Submit(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			b.attend()
			if i := b.done().Turns[0].Items[0]; i.Started != c.runs {
				t.Errorf("started: %v; %+v", i.Started, i.Content())
			}
			if got := b.ran(); c.name != "it hangs" && got != c.want ||
				strings.Contains(got, "Notification") != c.runs {
				t.Errorf("hooks ran for %q, not %q", got, c.want)
			}
		})
	}
}

// allowingReviewer reviews every call, and allows it.
type allowingReviewer struct{}

func (allowingReviewer) Model() string          { return "reviewer" }
func (allowingReviewer) Timeout() time.Duration { return time.Minute }
func (allowingReviewer) Review(context.Context, approval.ReviewRequest) (approval.Review, error) {
	return approval.Review{Allow: true}, nil
}

func (allowingReviewer) Remember(settle.Approval) {}
func (allowingReviewer) Judge(settle.Approval) settle.Judgement {
	return settle.Judgement{Decision: settle.Ask, Review: true}
}

// A hook that denies is asked before a reviewer that would allow the call, also if no person can be
// asked.
func TestHookDeniesBeforeReview(t *testing.T) {
	for more, runs := range map[string]bool{"true": true, "exit 2": false} {
		b := newHookBench(t, shellCall("ls"), func(s *settle.SessionConfig) {
			s.Permission, s.Reviewer = settle.Review, allowingReviewer{}
			s.Judge = func() (settle.Judge, error) { return allowingReviewer{}, nil }
		}, noted(event.HookPermission, more))
		turn, err := b.session.Submit(t.Context(), "go")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := turn.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i := b.done().Turns[0].Items[0]; i.Started != runs || b.ran() != "PermissionRequest" {
			t.Errorf("%s: started: %v; hooks %q", more, i.Started, b.ran())
		}
	}
}

// A hook is asked about a held call that a person approved, also where nobody can be asked: it
// can deny the call, as it can while a person waits.
func TestHookDeniesHeldCall(t *testing.T) {
	for more, runs := range map[string]bool{"true": true, "exit 2": false} {
		var c settle.SessionConfig
		b := newHookBench(t, shellCall("ls"), func(s *settle.SessionConfig) {
			s.Permission, s.Attended = settle.Ask, true
			c = *s
		})
		if _, err := b.session.Submit(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		for e, err := range b.session.Events(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind() == event.KindApprovalRequested {
				break
			}
		}
		if err := b.session.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		gate := noted(event.HookPermission, more)
		gate.Source, gate.Own, gate.Timeout = "test", true, time.Minute
		hooks := *c.Hooks
		hooks.List = []settle.Hook{gate}
		c.Hooks, c.Attended = &hooks, false
		var err error
		if b.session, err = b.host.Session(t.Context(), b.session.ID(), c); err != nil {
			t.Fatal(err)
		}
		verdict := &event.HeldVerdict{Call: b.session.State().HeldCalls()[0].ID, Verdict: event.Approved}
		if _, err := b.session.Run(t.Context(), "", settle.AsVerdict(verdict)); err != nil {
			t.Fatal(err)
		}
		if i := b.done().Turns[1].Items[0]; i.Started != runs || b.ran() != "PermissionRequest" {
			t.Errorf("%s: started: %v; hooks %q", more, i.Started, b.ran())
		}
	}
}

// A question of the agent runs Notification while its call waits for the answer.
func TestHookOfAQuestion(t *testing.T) {
	provider := script.New(
		script.Call(askuser.Name, `{"questions":[{"question":"Which?","options":[{"label":"a"}]}]}`), script.Text("done"),
	)
	b := newHookBench(t, provider, func(s *settle.SessionConfig) {
		s.Permission, s.Attended, s.Tools = settle.Ask, true, []tool.Tool{askuser.New()}
	}, noted(event.HookPermission, ""), noted(event.HookNotification, ""))
	if _, err := b.session.Submit(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	b.attend(json.RawMessage(`{"q1":"a"}`))
	if i := b.done().Turns[0].Items[0]; !strings.Contains(i.Content().Output, `= "a"`) {
		t.Errorf("the call has %+v", i.Content())
	}
	if got := b.ran(); got != "Notification" {
		t.Errorf("hooks ran for %q", got)
	}
}

// A requested compaction runs PreCompact, once.
func TestHookBeforeCompaction(t *testing.T) {
	provider := script.New(script.Turn(script.Text("hello")), script.Turn(script.Text("a summary"))).
		Otherwise(script.Text("a summary"))
	b := newHookBench(t, provider, nil, noted(event.HookCompact, ""))
	if _, err := b.session.Run(t.Context(), strings.Repeat("a long prompt ", 2000)); err != nil {
		t.Fatal(err)
	}
	if got := b.ran(); got != "" {
		t.Errorf("before the compaction: %q", got)
	}
	if _, err := b.session.Compact(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	b.done()
	if got := b.ran(); got != string(event.HookCompact) {
		t.Errorf("hooks ran for %q", got)
	}
}

// The end of a child agent runs SubagentStop, and its parent's Stop, each once.
func TestHookOfAChild(t *testing.T) {
	provider := script.New(
		script.Turn(
			script.Call("task", `{"description":"look","prompt":"look"}`),
		),
		script.Turn(script.Text("seen")),
		script.Turn(script.Text("done")),
	)
	b := newHookBench(t, provider, func(s *settle.SessionConfig) { s.Tasks = &settle.Tasks{} },
		noted(event.HookChildStop, ""), noted(event.HookStop, ""))
	if o, err := b.session.Run(t.Context(), "go"); err != nil || o.Answer != "done" {
		t.Fatal(o, err)
	}
	if got := b.ran(); got != "SubagentStop Stop" {
		t.Errorf("hooks ran for %q", got)
	}
}
