package session_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// mover is a judge whose path leads to the next place each time that it is looked up, up to
// the last place.
type mover struct {
	mu         sync.Mutex // guards the fields below
	real       []string   // the remaining places
	remembered []event.ResolvedPath
}

func (m *mover) Places(approval.Call) []event.ResolvedPath {
	m.mu.Lock()
	defer m.mu.Unlock()
	return []event.ResolvedPath{{Path: "/work/docs", Real: m.real[0]}}
}

// moves makes the path lead to the next place.
func (m *mover) moves() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.real) > 1 {
		m.real = m.real[1:]
	}
}

func (m *mover) Judge(call approval.Call) approval.Judgement {
	return approval.Judgement{Decision: event.Ask, Why: "it could change something", Places: m.Places(call)}
}

func (m *mover) Remember(call approval.Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remembered = call.Places
}

// placesTool keeps the places of its calls.
type placesTool struct {
	tool.Tool
	ran [][]event.ResolvedPath
}

func (p *placesTool) Run(_ context.Context, call tool.Call) (tool.Result, error) {
	p.ran = append(p.ran, call.Places) // one call at a time
	return tool.Result{Output: "seen"}, nil
}

// An approval covers the place that the request showed. If the path leads elsewhere when the
// answer arrives, settle requests approval again, and the call runs with the place that was
// shown last.
func TestApprovalIsOfThePlaceThatWasShown(t *testing.T) {
	for _, tt := range []struct {
		real []string // before each request and after the last answer
		runs bool
	}{
		{[]string{"/work/a"}, true},
		{[]string{"/work/a", "/home/.ssh"}, true},
		{[]string{"/work/a", "/work/b", "/work/c", "/work/d"}, false},
	} {
		bubble(t, fmt.Sprint(len(tt.real)), func(t *testing.T) {
			judge, look := &mover{real: tt.real}, &placesTool{Tool: call("look", time.Second)}
			b := attendedBy(
				t, judge, look, script.New(script.Turn(script.Call("look", `{"a":1}`)), script.Text("done")),
			)
			b.submit("a", "")
			for n := range min(len(tt.real), 3) {
				time.Sleep(time.Minute)
				asked := b.state().Turns[0].Approvals[n]
				if want := "  leads to: docs -> " + strings.TrimPrefix(tt.real[n], "/work/"); !strings.Contains(
					asked.Text, want,
				) {
					t.Errorf("question %d: %q, want %q in it", n+1, asked.Text, want)
				}
				if again := strings.Contains(asked.Why, "lead elsewhere than when it was approved"); again != (n > 0) {
					t.Errorf("question %d: why %q", n+1, asked.Why)
				}
				judge.moves()
				if err := b.Answer(t.Context(), answer(fmt.Sprintf("p%06d", n+1), event.Approved, "user")); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Minute)
			b.want([]string{"a: completed"})
			var want [][]event.ResolvedPath
			if tt.runs {
				want = [][]event.ResolvedPath{{{Path: "/work/docs", Real: tt.real[len(tt.real)-1]}}}
			}
			if diff := cmp.Diff(want, look.ran); diff != "" {
				t.Errorf("ran in (-want +got):\n%s", diff)
			}
			if out := b.state().Turns[0].Items[0].Content().Output; !tt.runs &&
				!strings.Contains(out, "its paths led elsewhere") {
				t.Errorf("the model received %q", out)
			}
		})
	}
}

// An approval for the session remembers the place that was shown.
func TestRememberedPlaceIsTheOneThatWasShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		judge := &mover{real: []string{"/work/a", "/home/.ssh"}}
		b := attendedBy(
			t,
			judge,
			call("look", time.Second),
			script.New(script.Turn(script.Call("look", `{"a":1}`)), script.Text("done")),
		)
		b.submit("a", "")
		time.Sleep(time.Minute)
		judge.moves()
		if err := b.Answer(t.Context(), answer("p000001", event.ApprovedSession, "user")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		judge.mu.Lock()
		defer judge.mu.Unlock()
		if diff := cmp.Diff([]event.ResolvedPath{{Path: "/work/docs", Real: "/work/a"}}, judge.remembered); diff != "" {
			t.Errorf("remembered (-want +got):\n%s", diff)
		}
	})
}
