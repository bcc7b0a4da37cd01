package settle_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// yard counts worktrees without making them.
type yard struct {
	slow    time.Duration // of each ending
	changed string
	refuses string

	mu   sync.Mutex // guards the fields below
	held map[string]bool
	did  []string
}

func (y *yard) Plan(_ context.Context, dir, session string) (event.Worktree, error) {
	if y.refuses == "plan" {
		return event.Worktree{}, errors.New("cannot give the agent a git worktree of its own: no")
	}
	return event.Worktree{
		Path:   dir + "/w/" + session,
		Dir:    dir + "/w/" + session,
		Git:    dir + "/.git",
		Branch: "settle/" + session,
		Base:   "0123456789abcdef",
	}, nil
}

func (y *yard) Make(_ context.Context, session string, _ event.Worktree) error {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.refuses == "make" {
		return errors.New("the disk is full")
	}
	if y.held == nil {
		y.held = map[string]bool{}
	}
	y.held[session] = true
	y.did = append(y.did, "make")
	return nil
}

func (y *yard) Held(session string, _ event.Worktree) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.held[session]
}

func (y *yard) Leave(_ context.Context, session string, _ event.Worktree) event.WorktreeLeft {
	time.Sleep(y.slow)
	y.mu.Lock()
	defer y.mu.Unlock()
	y.did = append(y.did, "leave")
	delete(y.held, session)
	return event.WorktreeLeft{Kept: y.changed != "", Why: y.changed}
}

func (y *yard) done() []string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return slices.Clone(y.did)
}

// with lets children of the configuration work in the yard.
func (y *yard) with(c *settle.SessionConfig) {
	c.Tasks.Worktrees = y
	c.Tasks.InDirectory = func(_ context.Context, c settle.SessionConfig, dir string) (settle.SessionConfig, error) {
		c.WorkDir = dir
		return c, nil
	}
}

const inWorktree = `"worktree":true`

// A child with a worktree works in it, and the child's end states whether the worktree was
// kept.
func TestWorktrees(t *testing.T) {
	for name, tt := range map[string]struct {
		yard      *yard
		more      []string
		modelText string
		did       []string
	}{
		"removed":      {&yard{}, []string{inWorktree}, "nothing in its git worktree has changed, which is removed", []string{"make", "leave"}},
		"kept":         {&yard{changed: "1 file changed"}, []string{inWorktree}, "is kept, with the branch settle/", []string{"make", "leave"}},
		"background":   {&yard{changed: "1 file changed"}, []string{inWorktree, background}, "that began at 0123456789ab: 1 file changed", []string{"make", "leave"}},
		"none planned": {&yard{refuses: "plan"}, []string{inWorktree}, "cannot give the agent a git worktree of its own: no", nil},
		"none made":    {&yard{refuses: "make"}, []string{inWorktree}, "cannot start the child agent: the disk is full", []string{"leave"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFamily(map[string][]script.Step{
					"root": {
						script.Turn(spawn("look", tt.more...)),
						script.Text("So it is."),
						script.Text("So it is."),
					},
					"look": {script.Turn(script.Delay(12*time.Second), script.Text("It is blue."))},
				})
				y := tt.yard
				host, store := clan(
					t,
					f,
					func(c *settle.SessionConfig) { c.Tasks.AtEnd = settle.AwaitTasks; y.with(c) },
				)
				if _, err := newSession(t, host, "p").Run(t.Context(), "root"); err != nil {
					t.Fatal(err)
				}
				if got := f.last("root"); !strings.Contains(got, tt.modelText) {
					t.Errorf("told:\n%s", got)
				}
				sessions := closed(t, host, store)
				if child, ok := sessions["look"]; ok && !strings.Contains(child.Host.Dir, "/w/"+child.Session) {
					t.Errorf("it worked in %s", child.Host.Dir)
				}
				if got := y.done(); !slices.Equal(got, tt.did) {
					t.Errorf("did %v, not %v", got, tt.did)
				}
			})
		})
	}
}

// C9: an interrupt does not wait for a worktree, and the session's end does.
func TestAnInterruptDoesNotWaitForWorktrees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFamily(map[string][]script.Step{
			"root": {
				script.Turn(spawn("one", inWorktree), spawn("two", inWorktree, background)),
			}, "one": {script.Turn(script.Stall())}, "two": {script.Turn(script.Stall())},
		})
		y := &yard{slow: 5 * time.Second}
		host, store := clan(t, f, y.with)
		s := newSession(t, host, "p")
		turn, err := s.Submit(t.Context(), "root")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		began := time.Now()
		if _, err := s.Interrupt(t.Context(), settle.Interruption{By: "user"}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		if _, err := turn.Wait(t.Context()); err == nil {
			t.Error("the turn completed")
		}
		sessions := closed(t, host, store)
		for _, c := range sessions[""].Children {
			if c.Worktree == nil || c.Ended.Worktree != nil {
				t.Errorf("%+v ended as %+v", c, c.Ended)
			}
		}
		if got := y.done(); !slices.Equal(got, []string{"make", "make", "leave", "leave"}) {
			t.Errorf("did %v", got)
		}
	})
}

// The children of a dead host are counted once, from their own logs: their answers, usage and
// worktrees.
func TestRecoveryCountsChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		used := model.Usage{Input: 10, Output: 2}
		y := &yard{changed: "1 file changed"}
		f := newFamily(map[string][]script.Step{"root": {script.Turn(script.Text("I see."), script.Usage(used))}})
		host, store := clan(t, f, y.with)
		cost := 0.25
		request := func(step int, text string) []event.Event {
			return []event.Event{
				{Turn: "t000001", Attempt: "a" + text, Data: event.AttemptStarted{Step: step, N: 1}},
				{Turn: "t000001", Attempt: "a" + text, Item: "i" + text, Data: event.ItemStarted{Type: event.Message}},
				{
					Turn:    "t000001",
					Attempt: "a" + text,
					Item:    "i" + text,
					Data: event.ItemEnded{
						Status:  event.ItemCompleted,
						Content: event.Content{Type: event.Message, Text: text},
					},
				},
				{
					Turn:    "t000001",
					Attempt: "a" + text,
					Data: event.AttemptEnded{
						Outcome: event.Completed,
						Usage:   event.Usage{Input: 100, Output: 5},
						Cost:    &cost,
					},
				},
			}
		}
		begin := func(opened event.SessionOpened) []event.Event {
			opened.Settle, opened.Dir = "test", "/"
			return []event.Event{
				{
					Data: opened,
				}, {Data: event.InputAccepted{Input: "n000001", Text: "go"}}, {Turn: "t000001", Data: event.TurnStarted{Inputs: []string{"n000001"}}},
			}
		}
		w, _ := y.Plan(t.Context(), "/", "kid")
		_ = y.Make(t.Context(), "kid", w)
		died(t, store.Dir, "p", append(begin(event.SessionOpened{}), append(request(1, "1"), []event.Event{
			{
				Data: event.ChildStarted{Child: "c000001", Session: "kid", Title: "look", Worktree: &w},
			}, {Data: event.ChildStarted{Child: "c000002", Session: "never"}},
		}...)...))
		died(
			t,
			store.Dir,
			"kid",
			append(
				begin(event.SessionOpened{Parent: "p", Depth: 1}),
				append(append(request(1, "2"), request(2, "3")...), []event.Event{
					{Data: event.ChildStarted{Child: "c000001", Session: "grandkid"}},
				}...)...),
		)
		died(t, store.Dir, "grandkid", append(begin(event.SessionOpened{Parent: "kid", Depth: 2}), request(1, "4")...))

		s := newSession(t, host, "p")
		check := func(what string, state event.State, input int64) {
			t.Helper()
			if got := state.Spent(); got.Usage.Input != input {
				t.Errorf("%s: the tree took %d tokens of input, not %d", what, got.Usage.Input, input)
			}
		}
		state := s.State()
		check("recovered", state, 400)
		if c := state.Children[0]; c.Ended.Cause.Reason != event.Crashed || c.Ended.Answer != "3" ||
			c.Ended.Spent.Cost != 0.75 ||
			c.Ended.Worktree == nil ||
			!c.Ended.Worktree.Kept {
			t.Errorf("the child ended as %+v, %+v", c.Ended, c.Ended.Worktree)
		}
		if c := state.Children[1]; c.Ended.Spent == nil || c.Ended.Spent.Usage.Input != 0 {
			t.Errorf("the child that never began ended as %+v", c.Ended)
		}
		if _, err := s.Run(t.Context(), "root"); err != nil {
			t.Fatal(err)
		}
		if got := f.last("root"); !strings.Contains(got, "The last that it said:]\n3\n") {
			t.Errorf("told:\n%s", got)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		kid := newSession(t, host, "kid") // another client looks at it
		check("the child", kid.State(), 300)
		check("opened again", newSession(t, host, "p").State(), 410)
		if got := y.done(); !slices.Equal(got, []string{"make", "leave"}) {
			t.Errorf("did %v", got)
		}
		if err := host.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"p", "kid"} {
			checked(t, store, id)
		}
	})
}

// died leaves the log of a session whose host died.
func died(t *testing.T, dir, id string, events []event.Event) {
	t.Helper()
	log, _, err := journal.Open(t.Context(), journal.Options{Dir: dir, Session: id})
	if err == nil {
		err = log.Update(func(event.State) []event.Event { return events })
	}
	if err == nil {
		err = log.Close(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// memo judges one directory: every call that it does not remember needs approval.
type memo struct {
	mu   sync.Mutex // guards the fields below
	kept []string
}

func (m *memo) Judge(a settle.Approval) settle.Judgement {
	if a.Tool.ReadOnly {
		return settle.Judgement{Decision: settle.Allow}
	}
	return settle.Judgement{Decision: settle.Ask, Why: "it is asked about"}
}

func (m *memo) Remember(a settle.Approval) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = append(m.kept, a.Tool.Name)
}

// A child in a worktree has its own judge: neither judge remembers the approvals of the other one.
func TestAJudgeForEachDirectory(t *testing.T) {
	touch, err := tool.New(
		"touch",
		"changes something",
		func(context.Context, struct{}) (string, error) { return "touched", nil },
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, apart := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			more := []string{}
			if apart {
				more = append(more, inWorktree)
			}
			f := newFamily(map[string][]script.Step{
				"root": {
					script.Turn(spawn("one", more...)),
					script.Text("ok"),
				}, "one": {script.Turn(script.Call("touch", `{}`)), script.Text("ok")},
			})
			var judges []*memo // made one after the other
			y := &yard{}
			host, store := clan(t, f, func(c *settle.SessionConfig) {
				c.Attended, c.Tools = true, []tool.Tool{touch}
				c.Judge = func() (settle.Judge, error) {
					judges = append(judges, &memo{})
					return judges[len(judges)-1], nil
				}
				y.with(c)
			})
			s := newSession(t, host, "p")
			turn, err := s.Submit(t.Context(), "root")
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if err := s.Answer(t.Context(), settle.Answer{Approval: s.State().Running().Approvals[0].Approval, Verdict: event.ApprovedSession, By: "user"}); err != nil {
				t.Fatal(err)
			}
			if _, err := turn.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			closed(t, host, store)
			var kept []int
			for _, j := range judges {
				kept = append(kept, len(j.kept))
			}
			if want := map[bool][]int{true: {0, 1}, false: {1}}[apart]; !slices.Equal(kept, want) {
				t.Errorf("the judges remember %v, not %v", kept, want)
			}
		})
	}
}
