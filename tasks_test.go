package settle_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// family is a provider that plays a separate script for each prompt.
type family struct {
	mu      sync.Mutex
	scripts map[string]*script.Model // by the session's first input
	late    int                      // requests that came after the family had to stop
	stopped bool
}

func newFamily(scripts map[string][]script.Step) *family {
	f := &family{scripts: map[string]*script.Model{}}
	for prompt, steps := range scripts {
		f.scripts[prompt] = script.New(steps...)
	}
	return f
}

// Stream implements [model.Provider].
func (f *family) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		f.late++
	}
	for _, i := range req.Input {
		if m := f.scripts[i.Text]; m != nil {
			return m.Stream(ctx, req)
		}
	}
	return script.New().Stream(ctx, req)
}

func (f *family) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
}

// last returns the last request for the prompt.
func (f *family) last(prompt string) string {
	requests := f.scripts[prompt].Requests()
	var b strings.Builder
	for _, i := range requests[len(requests)-1].Input {
		fmt.Fprintln(&b, i.Text)
	}
	return b.String()
}

func spawn(prompt string, more ...string) script.Step {
	return script.Call("task", fmt.Sprintf(`{"description":"do %[1]s","prompt":"%[1]s"%[2]s}`, prompt, strings.Join(append([]string{""}, more...), ",")))
}

const background = `"background":true`

// clan is a host whose sessions may start child agents.
func clan(t *testing.T, f *family, change func(*settle.SessionConfig)) (*testHost, settle.Store) {
	t.Helper()
	dir := t.TempDir()
	c := settle.SessionConfig{Permission: settle.Allow, Tasks: &settle.Tasks{}, Model: model.Config{Provider: f}}
	if change != nil {
		change(&c)
	}
	return newHost(t, dir, c), settle.Store{Dir: dir}
}

// checked reads a session from the store and checks it against the contract.
func checked(t *testing.T, store settle.Store, id string) event.State {
	t.Helper()
	var events []event.Event
	for e, err := range store.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	if err := contract.Check(events); err != nil {
		t.Errorf("session %s: %v", id, err)
	}
	state, err := store.State(id)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// closed closes the host and checks all its sessions. It returns the child agents, by the
// titles of their tasks.
func closed(t *testing.T, host *testHost, store settle.Store) map[string]event.State {
	t.Helper()
	if err := host.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	list, err := store.List()
	if err != nil {
		t.Fatal(err)
	}
	titles := map[string]string{}
	states := map[string]event.State{}
	for _, s := range list {
		states[s.ID] = checked(t, store, s.ID)
		for _, c := range states[s.ID].Children {
			titles[c.Session] = strings.TrimPrefix(c.Title, "do ")
		}
	}
	out := map[string]event.State{}
	for id, state := range states {
		if state.Open {
			t.Errorf("session %s is open", id)
		}
		out[titles[id]] = state
	}
	return out
}

func TestForegroundChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		used := script.Usage(model.Usage{Input: 10, Output: 2})
		f := newFamily(map[string][]script.Step{
			"root": {script.Turn(spawn("look"), used), script.Turn(script.Text("So it is."), used)},
			"look": {script.Turn(script.Delay(12*time.Second), script.Text("It is blue."), used)},
		})
		host, store := clan(t, f, nil)
		s := newSession(t, host, "p")
		o, err := s.Run(t.Context(), "root")
		if err != nil || o.Answer != "So it is." {
			t.Fatalf("%q, %v", o.Answer, err)
		}
		if got := f.last("root"); !strings.Contains(got, "Child agent c000001 (do look) completed after 12s") || !strings.Contains(got, "It is blue.") {
			t.Errorf("the parent is told:\n%s", got)
		}
		sessions := closed(t, host, store)
		c := sessions[""].Children[0]
		if c.Background() || c.Ended.Outcome != event.Completed || c.Ended.ElapsedMS != 12000 || c.Ended.Spent.Usage.Input != 10 {
			t.Errorf("the child is %+v, and ended as %+v", c, c.Ended)
		}
		child := sessions["look"].Host
		if child.Parent != "p" || child.ParentTurn != "t000001" || child.ParentCall != c.Call || child.Depth != 1 || child.Child != "c000001" {
			t.Errorf("it was opened as %+v", child)
		}
		if got := sessions[""].Spent().Usage.Input; got != 30 {
			t.Errorf("the tree took %d tokens of input", got)
		}
	})
}

// C18: the end of a background child is reported once, before the turn completes.
func TestBackgroundChildWakesItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFamily(map[string][]script.Step{
			"root": {
				script.Turn(spawn("look", background)),
				script.Turn(script.Delay(20*time.Second), script.Text("I wait.")), // it ends meanwhile
				script.Turn(script.Text("It is blue, then.")),
			},
			"look": {script.Turn(script.Delay(12*time.Second), script.Text("It is blue."))},
		})
		host, store := clan(t, f, nil)
		s := newSession(t, host, "p")
		o, err := s.Run(t.Context(), "root")
		if err != nil || o.Answer != "It is blue, then." {
			t.Fatalf("%q, %v", o.Answer, err)
		}
		if got := strings.Count(f.last("root"), "It is blue."); got != 1 {
			t.Errorf("it is told %d times:\n%s", got, f.last("root"))
		}
		closed(t, host, store)
	})
}

// An idle session keeps the end of a child, also over a restart, and reports it with the next
// input.
func TestIdleParentKeepsChildEnd(t *testing.T) {
	for _, reopened := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFamily(map[string][]script.Step{
				"root": {script.Turn(spawn("look", background)), script.Text("Started."), script.Text("It is blue, then."), script.Text("Bye.")},
				"look": {script.Turn(script.Delay(12*time.Second), script.Text("It is blue."))},
			})
			host, store := clan(t, f, nil)
			s := newSession(t, host, "p")
			if o, err := s.Run(t.Context(), "root"); err != nil || o.Answer != "Started." {
				t.Fatalf("%q, %v", o.Answer, err)
			}
			time.Sleep(time.Minute)
			if st := s.State(); len(st.UnreportedChildren()) != 1 || st.Running() != nil || len(st.Turns) != 1 {
				t.Fatalf("%d ends are not told, and there are %d turns", len(st.UnreportedChildren()), len(st.Turns))
			}
			if reopened {
				if err := s.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				s = newSession(t, host, "p")
			}
			for n, answer := range []string{"It is blue, then.", "Bye."} {
				o, err := s.Run(t.Context(), "and?")
				if err != nil || o.Answer != answer {
					t.Fatalf("%q, %v", o.Answer, err)
				}
				if got := strings.Count(f.last("root"), "It is blue.\n"); got != 1 {
					t.Errorf("turn %d: it is told %d times:\n%s", n, got, f.last("root"))
				}
			}
			closed(t, host, store)
		})
	}
}

// With AwaitTasks, as for a single turn, the work of all children is used.
func TestTurnAwaitsChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFamily(map[string][]script.Step{
			"root": {
				script.Turn(spawn("one", background), spawn("two", background)),
				script.Text("Wait."), script.Text("One more."), script.Text("Both."),
			},
			"one": {script.Turn(script.Delay(12*time.Second), script.Text("1"))},
			"two": {script.Turn(script.Delay(30*time.Second), script.Text("2"))},
		})
		host, store := clan(t, f, func(c *settle.SessionConfig) { c.Tasks.AtEnd = settle.AwaitTasks })
		o, err := newSession(t, host, "p").Run(t.Context(), "root")
		if err != nil || o.Answer != "Both." {
			t.Fatalf("%q, %v", o.Answer, err)
		}
		closed(t, host, store)
	})
}

// C18, C9: interrupting, replacing or closing a parent ends all descendants at once, and no
// further request is sent.
func TestParentEndEndsChildren(t *testing.T) {
	for _, how := range []string{"interrupt", "replace", "close"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFamily(map[string][]script.Step{
					"root":  {script.Turn(spawn("back", background)), script.Turn(spawn("one"), spawn("two")), script.Text("never")},
					"back":  {script.Turn(script.Text("Hm."), script.Stall())},
					"one":   {script.Turn(spawn("grand")), script.Text("never")},
					"grand": {script.Turn(script.Text("Deep "), script.Stall())},
					"two":   {script.Turn(script.Stall())},
					"new":   {script.Text("Anew.")},
				})
				host, store := clan(t, f, nil)
				s := newSession(t, host, "p")
				turn, err := s.Submit(t.Context(), "root")
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				if how != "replace" {
					f.stop()
				}
				began := time.Now()
				switch how {
				case "interrupt":
					_, err = s.Interrupt(t.Context(), settle.Interruption{By: "user"})
				case "replace":
					var next *settle.Turn
					if next, err = s.Submit(t.Context(), "new", settle.WithMode(event.Replace)); err == nil {
						_, err = next.Wait(t.Context())
					}
				case "close":
					err = s.Close(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > 500*time.Millisecond {
					t.Errorf("it took %v", took)
				}
				if _, err := turn.Wait(t.Context()); err == nil {
					t.Error("the turn completed")
				}
				sessions := closed(t, host, store)
				for _, name := range []string{"back", "one", "two", "grand"} {
					state, ok := sessions[name]
					if !ok {
						t.Fatalf("there is no child %s", name)
					}
					if c := state.Turns[0].Cause; c.Outcome != event.Aborted || c.Reason != event.Parent {
						t.Errorf("%s ended as %+v", name, c)
					}
				}
				for _, c := range sessions[""].Children {
					if c.Ended.Outcome != event.Aborted || c.Ended.Cause.Reason != event.Parent {
						t.Errorf("%s: %+v %+v", c.Title, c.Ended, c.Ended.Cause)
					}
				}
				if f.late > 0 {
					t.Errorf("%d requests were sent after the end", f.late)
				}
			})
		})
	}
}

// A child that fails, stalls or reaches a limit reports its work so far.
func TestUnfinishedChildReports(t *testing.T) {
	for name, tt := range map[string]struct {
		more   string
		steps  []script.Step
		report string
	}{
		"fails":   {"", []script.Step{script.Turn(script.Text("Half"), script.Fail(model.NewError(model.ErrAuth, "no key")))}, "failed: "},
		"stalls":  {`"timeout_ms":60000`, []script.Step{script.Turn(script.Text("Half"), script.Stall())}, "did not finish: "},
		"refuses": {"", []script.Step{script.Turn(script.Text("Half"), script.Stop(model.StopRefusal))}, "failed: "},
		"steps": {`"max_steps":1`, []script.Step{
			script.Turn(script.Text("Half"), script.Call("check_task", `{}`)), script.Text("never"),
		}, "limit"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFamily(map[string][]script.Step{
					"root": {script.Turn(spawn("look", tt.more)), script.Text("I see.")}, "look": tt.steps,
				})
				if tt.more == "" {
					f.scripts["root"] = script.New(script.Turn(spawn("look")), script.Text("I see."))
				}
				host, store := clan(t, f, nil)
				if _, err := newSession(t, host, "p").Run(t.Context(), "root"); err != nil {
					t.Fatal(err)
				}
				got := f.last("root")
				if !strings.Contains(got, tt.report) || !strings.Contains(got, "Half") || !strings.Contains(got, " after ") {
					t.Errorf("the parent is told:\n%s", got)
				}
				closed(t, host, store)
			})
		})
	}
}

// Children are bounded in depth, in parallel and in total.
func TestChildrenAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFamily(map[string][]script.Step{
			"root":  {script.Turn(spawn("a", background), spawn("b", background)), script.Turn(spawn("c")), script.Text("wait"), script.Turn(spawn("d")), script.Text("ok")},
			"a":     {script.Turn(script.Delay(time.Second), spawn("grand")), script.Text("ok")},
			"b":     {script.Turn(script.Delay(time.Second), script.Text("ok"))},
			"grand": {script.Turn(spawn("great")), script.Text("ok")},
		})
		host, store := clan(t, f, func(c *settle.SessionConfig) {
			c.Tasks.MaxRunning, c.Tasks.MaxTotal, c.Tasks.AtEnd = 2, 2, settle.AwaitTasks
		})
		f.scripts["root"].Otherwise(script.Text("ok"))
		if _, err := newSession(t, host, "p").Run(t.Context(), "root"); err != nil {
			t.Fatal(err)
		}
		if got := f.last("root"); !strings.Contains(got, "2 run already") || !strings.Contains(got, "has started 2, which is the most") {
			t.Errorf("told:\n%s", got)
		}
		if got := f.last("grand"); !strings.Contains(got, `there is no tool "task"`) {
			t.Errorf("told:\n%s", got)
		}
		if got := len(closed(t, host, store)); got != 4 {
			t.Errorf("there are %d sessions", got)
		}
	})
}

// The model sees the state of its children, sends messages to them and ends them.
func TestWorkingWithChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tick, err := tool.New("tick", "takes 5 seconds", func(ctx context.Context, _ struct{}) (string, error) {
			select {
			case <-time.After(5 * time.Second):
				return "tock", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		f := newFamily(map[string][]script.Step{
			"root": {
				script.Turn(spawn("a", background)), script.Turn(spawn("b", background)),
				script.Turn(script.Delay(2*time.Second), script.Call("check_task", `{}`)), script.Turn(script.Call("message_task", `{"task":"c000001","message":"and green?"}`)),
				script.Turn(script.Call("cancel_task", `{"task":"c000002"}`)),
				script.Turn(script.Call("check_task", `{"wait_ms":60000}`)),
				script.Text("done"), script.Text("done"),
			},
			"a": {script.Turn(script.Call("tick", `{}`)), script.Text("Blue and green.")},
			"b": {script.Turn(script.Text("Well"), script.Stall())},
		})
		host, store := clan(t, f, func(c *settle.SessionConfig) { c.Tools = []tool.Tool{tick} })
		s := newSession(t, host, "p")
		if _, err := s.Run(t.Context(), "root"); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"Child agent c000001 (do a) runs for 2.0 s: 1 steps, 1 calls; now running tick, for 2.0 s; last progress 2.0 s ago",
			"Child agent c000002 (do b) runs for 2.0 s: 0 steps, 0 calls; now waiting for the model, for 2.0 s; last progress 2.0 s ago",
			"agent c000001 received the message", "Child agent c000002 (do b) did not finish: interrupted after 2.0 s",
			"Child agent c000001 (do a) completed after 5.0 s",
		} {
			if got := f.last("root"); !strings.Contains(got, want) {
				t.Errorf("not told %q:\n%s", want, got)
			}
		}
		if got := f.last("a"); !strings.Contains(got, "and green?") {
			t.Errorf("the child is told:\n%s", got)
		}
		closed(t, host, store)
	})
}

// A child's approval reaches the clients of the root, and names the child.
func TestApprovalsOfChildren(t *testing.T) {
	touch, err := tool.New("touch", "changes something", func(context.Context, struct{}) (string, error) { return "touched", nil })
	if err != nil {
		t.Fatal(err)
	}
	scripts := func() *family {
		return newFamily(map[string][]script.Step{
			"root":  {script.Turn(spawn("one")), script.Text("ok")},
			"one":   {script.Turn(spawn("grand")), script.Text("ok")},
			"grand": {script.Turn(script.Call("touch", `{}`)), script.Text("ok")},
		})
	}
	for _, verdict := range []event.Verdict{event.Approved, event.ApprovedSession, event.Denied, event.ApprovalAborted} {
		t.Run(string(verdict), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := scripts()
				host, store := clan(t, f, func(c *settle.SessionConfig) {
					c.Permission, c.Attended, c.Tools = settle.Ask, true, []tool.Tool{touch}
				})
				s := newSession(t, host, "p")
				turn, err := s.Submit(t.Context(), "root")
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				var asked []*event.Approval
				if running := s.State().Running(); running != nil {
					asked = running.Approvals
				}
				if len(asked) != 1 || asked[0].Child != "c000001" || !strings.Contains(asked[0].Text, "Child agent c000001 (do one) asks") || asked[0].Tool != "touch" {
					t.Fatalf("asked %+v", asked)
				}
				if err := s.Answer(t.Context(), settle.Answer{Approval: asked[0].Approval, Verdict: verdict, By: "user"}); err != nil {
					t.Fatal(err)
				}
				o, _ := turn.Wait(t.Context())
				if o.Completed() == (verdict == event.ApprovalAborted) {
					t.Errorf("the turn ended as %+v", o.Cause)
				}
				sessions := closed(t, host, store)
				var touched bool
				for _, i := range sessions["grand"].Turns[0].Items {
					touched = touched || i.Started && i.Content().Name == "touch"
				}
				if want := verdict == event.Approved || verdict == event.ApprovedSession; touched != want {
					t.Errorf("it ran: %v", touched)
				}
			})
		})
	}
	t.Run("nobody", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := scripts()
			host, store := clan(t, f, func(c *settle.SessionConfig) { c.Permission, c.Tools = settle.Ask, []tool.Tool{touch} })
			if _, err := newSession(t, host, "p").Run(t.Context(), "root"); err != nil {
				t.Fatal(err)
			}
			if got := f.last("grand"); !strings.Contains(got, "no person can be asked") {
				t.Errorf("told:\n%s", got)
			}
			closed(t, host, store)
		})
	})
}

// The approval of a background child reaches the clients of the root, names the child, and
// belongs to the session: it can be answered while the parent is idle. It ends with the
// child's turn.
func TestApprovalsOfBackgroundChildren(t *testing.T) {
	for _, tt := range []struct {
		verdict event.Verdict // "" for none: the parent is interrupted
		idle    bool
		touched bool
		ended   event.Verdict
	}{
		{event.Approved, true, true, event.Approved},
		{event.Approved, false, true, event.Approved},
		{event.ApprovedSession, true, true, event.ApprovedSession},
		{event.Denied, true, false, event.Denied},
		{event.ApprovalAborted, true, false, event.ApprovalAborted},
		{event.ApprovalAborted, false, false, event.ApprovalAborted},
		{"", false, false, event.Expired},
		{"", true, false, event.Expired},
	} {
		t.Run(fmt.Sprintf("%s, idle %t", tt.verdict, tt.idle), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, touch := newFamily(map[string][]script.Step{
					"root":  {script.Turn(spawn("one", background)), script.Turn(script.Delay(20*time.Second), script.Text("ok")), script.Text("ok"), script.Text("ok")},
					"one":   {script.Turn(script.Delay(2*time.Second), spawn("grand")), script.Turn(script.Call("touch", `{}`)), script.Text("ok")},
					"grand": {script.Turn(script.Call("touch", `{}`)), script.Text("ok")},
				}), toucher(t)
				host, store := clan(t, f, func(c *settle.SessionConfig) {
					c.Permission, c.Attended, c.Tools = settle.Ask, true, []tool.Tool{touch}
				})
				s := newSession(t, host, "p")
				turn, err := s.Submit(t.Context(), "root")
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(map[bool]time.Duration{true: time.Minute, false: 10 * time.Second}[tt.idle])
				asked := s.State().OpenApprovals()
				if running := s.State().Running() == nil; len(asked) != 1 || running != tt.idle || asked[0].Child != "c000001" || !strings.Contains(asked[0].Text, "Child agent c000001 (do one) asks") {
					t.Fatalf("asked %+v, idle %t", asked, running)
				}
				switch {
				case tt.verdict != "":
					if err := s.Answer(t.Context(), settle.Answer{Approval: asked[0].Approval, Verdict: tt.verdict, By: "user"}); err != nil {
						t.Fatal(err)
					}
					late := (*settle.AnsweredError)(nil)
					if err := s.Answer(t.Context(), settle.Answer{Approval: asked[0].Approval, Verdict: event.Approved, By: "user"}); !errors.As(err, &late) {
						t.Errorf("answered again: %v", err)
					}
				case tt.idle:
					err = s.Close(t.Context())
				default:
					_, err = s.Interrupt(t.Context(), settle.Interruption{By: "user"})
				}
				if err != nil {
					t.Fatal(err)
				}
				o, _ := turn.Wait(t.Context())
				if o.Completed() != (tt.verdict != "" || tt.idle) {
					t.Errorf("the turn ended as %+v", o.Cause)
				}
				synctest.Wait()
				if more := s.State().OpenApprovals(); tt.verdict == event.Approved && len(more) == 1 { // its own call
					if err := s.Answer(t.Context(), settle.Answer{Approval: more[0].Approval, Verdict: tt.verdict, By: "user"}); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				sessions := closed(t, host, store)
				c := sessions[""].Children[0]
				if got := c.Approvals[0].Ended; got == nil || got.Verdict != tt.ended {
					t.Errorf("the approval ended as %+v", got)
				}
				if aborted := tt.verdict == event.ApprovalAborted; aborted != (c.Ended.Cause != nil && c.Ended.Cause.Reason == event.Interrupted) {
					t.Errorf("the child ended as %+v", c.Ended)
				}
				var touched bool
				for _, i := range sessions["grand"].Turns[0].Items {
					touched = touched || i.Started && i.Content().Name == "touch"
				}
				if touched != tt.touched {
					t.Errorf("it ran: %v", touched)
				}
			})
		})
	}
}

func toucher(t *testing.T) tool.Tool {
	t.Helper()
	touch, err := tool.New("touch", "changes something", func(context.Context, struct{}) (string, error) { return "touched", nil })
	if err != nil {
		t.Fatal(err)
	}
	return touch
}

// If no person can be asked, the declared policy answers for a background child: in an
// unattended session, and after a failed turn in a session that requests approvals only during
// turns.
func TestUnattendedBackgroundChildIsDenied(t *testing.T) {
	for _, attended := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFamily(map[string][]script.Step{
				"root": {script.Turn(spawn("one", background)), script.Turn(script.Fail(model.NewError(model.ErrAuth, "no key")))},
				"one":  {script.Turn(script.Delay(time.Minute), script.Call("touch", `{}`)), script.Text("ok")},
			})
			host, store := clan(t, f, func(c *settle.SessionConfig) {
				c.Permission, c.Attended, c.Tools, c.Tasks.AtEnd = settle.Ask, attended, []tool.Tool{toucher(t)}, settle.AwaitTasks
			})
			if _, err := newSession(t, host, "p").Run(t.Context(), "root"); err == nil {
				t.Error("the turn completed")
			}
			time.Sleep(2 * time.Minute)
			if got, want := f.last("one"), map[bool]string{true: "nobody is asked any more", false: "no person can be asked"}[attended]; !strings.Contains(got, want) {
				t.Errorf("told:\n%s", got)
			}
			closed(t, host, store)
		})
	}
}

// C18: the children of a dead host have ended. Their parent receives that with the next input,
// and nothing is resumed.
func TestChildrenOfDeadHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFamily(map[string][]script.Step{"root": {script.Text("I see.")}})
		host, store := clan(t, f, nil)
		log, _, err := journal.Open(t.Context(), journal.Options{Dir: store.Dir, Session: "p"})
		if err != nil {
			t.Fatal(err)
		}
		err = log.Update(func(event.State) []event.Event {
			return []event.Event{
				{Data: event.SessionOpened{Settle: "test", Dir: "/"}}, {Data: event.ChildStarted{Child: "c000001", Session: "gone", Title: "look"}},
			}
		})
		if err = errors.Join(err, log.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		s := newSession(t, host, "p")
		if st := s.State(); len(st.UnreportedChildren()) != 1 || st.Children[0].Ended.Cause.Reason != event.Crashed || st.Running() != nil {
			t.Fatalf("the children are %+v", st.Children[0])
		}
		if _, err := s.Run(t.Context(), "root"); err != nil {
			t.Fatal(err)
		}
		if got := f.last("root"); !strings.Contains(got, "Child agent c000001 (look) did not finish") {
			t.Errorf("told:\n%s", got)
		}
		closed(t, host, store)
	})
}
