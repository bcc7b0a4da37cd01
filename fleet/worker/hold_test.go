package worker

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/fleet/index"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// asking make sessions whose calls of the recording tool need a person, and whose other tools do not.
func asking(
	t *testing.T, m model.Provider, r *fleettest.Record, others ...tool.Tool,
) func(context.Context, fleet.Attempt) (settle.SessionConfig, error) {
	t.Helper()
	dir, work := t.TempDir(), r.Tool(t)
	return func(context.Context, fleet.Attempt) (settle.SessionConfig, error) {
		return settle.SessionConfig{
			Model: model.Config{Provider: m, ProviderName: "test", Name: "test"}, WorkDir: dir,
			Tools: append([]tool.Tool{work}, others...),
			Judge: func() (settle.Judge, error) { return judge(work.Spec().Name), nil },
		}, nil
	}
}

// judge requires approval of the calls of the tool that it names.
type judge string

func (j judge) Judge(call settle.Approval) settle.Judgement {
	if call.Tool.Name == string(j) {
		return settle.Judgement{Decision: event.Ask, Why: "it is what people decide about"}
	}
	return settle.Judgement{Decision: event.Allow}
}
func (judge) Remember(settle.Approval) {}

// person is what gives verdicts.
type person interface {
	Answer(ctx context.Context, taskID string, v fleet.Verdict) (queued bool, err error)
}

// answer gives a verdict about the n-th held call of a task.
func answer(t *testing.T, p *fleettest.Place, u fleet.TaskStatus, n int, v event.Verdict) (queued bool, err error) {
	t.Helper()
	if u.State != fleet.Held || len(u.Result.Held) <= n {
		t.Fatalf("it does not wait for a person: %+v, %+v", u, u.Result)
	}
	return p.Engine.(person).Answer(t.Context(), u.ID, fleet.Verdict{
		Call: u.Result.Held[n].ID, Verdict: v, By: "ada", Message: "words", At: time.Now(),
	})
}

// folded returns the state of a session whose log keeps the contract.
func folded(t *testing.T, p *fleettest.Place, session string) (state event.State) {
	t.Helper()
	for _, e := range p.Events(t, session) {
		var err error
		if state, err = event.Fold(state, e); err != nil {
			t.Fatal(err)
		}
	}
	return state
}

// C19: a call that needs a person gives the worker back. Two people approve it at once: one verdict
// counts, and the call runs once. C16: a later verdict runs nothing and says so.
func TestHeldCallRunsOnceWhenApproved(t *testing.T) {
	p := newPlace(t)
	var r fleettest.Record
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work"}, fleet.Task{Session: "other", Prompt: "work"})
	session := asking(t, fleettest.Model{Calls: 1, Call: r.Call}, &r)
	start(t, Config{ID: "w1", Engine: p.Engine, Logs: p.Logs, Session: session, Slots: 1, Hold: true})
	tasks := p.Await(t.Context(), t) // the only slot is given back twice
	for _, u := range tasks {
		if u.State != fleet.Held || u.Result.Outcome != fleet.OutcomeHeld || len(r.Runs()) > 0 {
			t.Errorf("%+v, %+v, %v", u, u.Result, r.Runs())
		}
	}
	var errs [2]error
	var both sync.WaitGroup
	for n := range errs {
		both.Go(func() { _, errs[n] = answer(t, p, tasks[0], 0, []event.Verdict{event.Approved, event.Denied}[n]) })
	}
	both.Wait()
	late := (*index.AnsweredError)(nil)
	if (errs[0] == nil) == (errs[1] == nil) || !errors.As(errors.Join(errs[0], errs[1]), &late) {
		t.Errorf("two verdicts: %v; %v", errs[0], errs[1])
	}
	ran := 1
	if errs[0] != nil {
		ran = 0
	}
	p.Await(t.Context(), t)
	u, err := p.Index.State(t.Context(), tasks[0].ID)
	if err != nil || u.State != fleet.Ended || u.Result.Outcome != event.Completed || u.Result.Turns != 2 ||
		len(u.Result.Held) > 0 || u.Attempt != 2 || u.Lost != 0 {
		t.Errorf("%+v, %+v, %v", u, u.Result, err)
	}
	if n := r.Runs()[fleettest.Token("s", 1)]; n != ran {
		t.Errorf("the call ran %d times, not %d", n, ran)
	}
	_, err = answer(t, p, tasks[0], 0, event.Approved)
	if !errors.As(err, &late) || !strings.Contains(err.Error(), "before by ada; nothing was run") {
		t.Errorf("a late verdict: %v", err)
	}
	folded(t, p, "s")
}

// The other calls of a step end before the turn does; all held calls of a task are decided before it
// continues, in one turn.
func TestHeldCallsOfOneStep(t *testing.T) {
	p := newPlace(t)
	var r fleettest.Record
	release := make(chan struct{})
	slow, err := tool.New("slow", "Takes a while.", func(ctx context.Context, _ struct{}) (string, error) {
		select {
		case <-release:
			return "slow but done", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	m := &batchModel{calls: []script.Step{
		script.CallID("c1", "work", `{"token":"a"}`), script.CallID("c2", "slow", `{}`),
		script.CallID("c3", "work", `{"token":"b"}`), script.CallID("c4", "work", `{"token":"c"}`),
	}}
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work"})
	start(t, Config{ID: "w1", Engine: p.Engine, Logs: p.Logs, Session: asking(t, m, &r, slow), Slots: 1, Hold: true})
	follow(t, p, "s", event.KindApprovalRequested)
	if u, err := p.Index.State(t.Context(), "s/1"); err != nil || u.State != fleet.Running {
		t.Errorf("it is given back before another call has ended: %+v, %v", u, err)
	}
	close(release)
	u := p.Await(t.Context(), t)[0]
	for n, v := range []event.Verdict{event.Approved, event.Denied, event.Approved} {
		if queued, err := answer(t, p, u, n, v); err != nil || queued != (n == 2) {
			t.Fatalf("verdict %d: %v, %v", n, queued, err)
		}
	}
	u = p.Await(t.Context(), t)[0]
	if u.State != fleet.Ended || u.Result.Outcome != event.Completed || u.Result.Turns != 2 {
		t.Errorf("%+v, %+v", u, u.Result)
	}
	runs := r.Runs() // the calls ask in any order
	if fleettest.CheckOnce(t, runs); len(runs) != 2 {
		t.Errorf("runs: %v", runs)
	}
	state := folded(t, p, "s")
	items := state.Turns[0].Items
	n := slices.IndexFunc(items, func(i *event.Item) bool { return i.Content().Name == "slow" })
	if items[n].Status != event.ItemCompleted {
		t.Error("a call was cut short by the wait for a person")
	}
	if last := m.last(); !strings.Contains(last, "do not allow") || strings.Count(last, "did ") != 2 ||
		!strings.Contains(last, "Continue the task that began with: work\n") {
		t.Errorf("the model does not see what was decided: %s", last)
	}
}

// The hooks of a call that has ended, and of the question, run to their ends before the task is held.
func TestHooksEndBeforeTheTaskIsHeld(t *testing.T) {
	p := newPlace(t)
	var r fleettest.Record
	quick, err := tool.New(
		"quick",
		"Ends at once.",
		func(context.Context, struct{}) (string, error) { return "done", nil },
	)
	if err != nil {
		t.Fatal(err)
	}
	m := &batchModel{calls: []script.Step{
		script.CallID("c1", "work", `{"token":"a"}`), script.CallID("c2", "quick", `{}`),
	}}
	config := asking(t, m, &r, quick)
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work"})
	start(t, Config{
		ID: "w1", Engine: p.Engine, Logs: p.Logs, Slots: 1, Hold: true,
		Session: func(ctx context.Context, a fleet.Attempt) (settle.SessionConfig, error) {
			c, err := config(ctx, a)
			hook := settle.Hook{Command: "sleep 0.3", Timeout: time.Minute, Source: "test", Own: true}
			after, notification := hook, hook
			after.Event, after.Matcher, notification.Event = event.HookAfter, "quick", event.HookNotification
			c.Hooks = &settle.Hooks{List: []settle.Hook{after, notification}, Env: []string{"PATH=/usr/bin:/bin"}}
			return c, err
		},
	})
	if u := p.Await(t.Context(), t)[0]; u.State != fleet.Held {
		t.Errorf("%+v, %+v", u, u.Result)
	}
	hooks := folded(t, p, "s").Turns[0].Hooks
	if len(hooks) != 2 {
		t.Errorf("%d hooks ran", len(hooks))
	}
	for _, h := range hooks {
		if h.Ended == nil || h.Ended.Outcome != event.Completed {
			t.Errorf("the hook %s was cut short: %+v", h.Event, h.Ended)
		}
	}
}

// batchModel is a model that makes all its calls in the first response, and ends the turn in the second.
type batchModel struct {
	calls []script.Step
	mu    sync.Mutex
	seen  string
}

// Stream implements [model.Provider].
func (m *batchModel) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	var words []string
	outputs := 0
	for _, i := range r.Input {
		if words = append(words, i.Text); i.Role == model.Output {
			outputs++
		}
	}
	m.mu.Lock()
	m.seen = strings.Join(words, "\n")
	m.mu.Unlock()
	if outputs > 0 {
		return script.New(script.Turn(script.Text("done"))).Stream(ctx, r)
	}
	return script.New(script.Turn(m.calls...)).Stream(ctx, r)
}

func (m *batchModel) last() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen
}

// A verdict may come while the session runs another input, and other inputs run while a call is held.
func TestVerdictWhileTheSessionIsBusy(t *testing.T) {
	p := newPlace(t)
	var r fleettest.Record
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work"})
	m := fleettest.Model{Calls: 1, Call: r.Call, Delay: 300 * time.Millisecond}
	start(t, Config{ID: "w1", Engine: p.Engine, Logs: p.Logs, Session: asking(t, m, &r), Slots: 2, Hold: true})
	held := p.Await(t.Context(), t)[0]
	p.Submit(t, fleet.Task{Session: "s", Input: "2", Prompt: "and now?"})
	if queued, err := answer(t, p, held, 0, event.Approved); err != nil || !queued {
		t.Fatal(queued, err)
	}
	for _, u := range p.Await(t.Context(), t) {
		if u.State != fleet.Ended || u.Result.Outcome != event.Completed {
			t.Errorf("%+v, %+v", u, u.Result)
		}
	}
	if n := r.Runs()[fleettest.Token("s", 1)]; n != 1 {
		t.Errorf("the call ran %d times", n)
	}
	if n := len(folded(t, p, "s").Turns); n != 3 {
		t.Errorf("%d turns", n)
	}
}

// A held task can be cancelled; then a verdict runs nothing.
func TestCancelOfHeldTask(t *testing.T) {
	p := newPlace(t)
	var r fleettest.Record
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work"})
	session := asking(t, fleettest.Model{Calls: 1, Call: r.Call}, &r)
	start(t, Config{ID: "w1", Engine: p.Engine, Logs: p.Logs, Session: session, Slots: 1, Hold: true})
	held := p.Await(t.Context(), t)[0]
	if ok, err := p.Engine.Cancel(t.Context(), held.ID, "ada"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	u, err := p.Index.State(t.Context(), held.ID)
	if err != nil || u.State != fleet.Ended || u.Result.Reason != event.Interrupted || len(u.Result.Held) > 0 ||
		u.Result.Turns != 1 || !strings.Contains(u.Result.Message, "cancelled by ada") {
		t.Errorf("%+v, %+v, %v", u, u.Result, err)
	}
	_, err = answer(t, p, held, 0, event.Approved)
	if err == nil || !strings.Contains(err.Error(), "cancelled by ada") {
		t.Errorf("a late verdict: %v", err)
	}
	if ok, err := p.Engine.Cancel(t.Context(), held.ID, "bob"); ok || err != nil {
		t.Errorf("a second cancellation: %v, %v", ok, err)
	}
}

// Without people, a policy denies the call, and the turn continues.
func TestCallIsDeniedWithoutHold(t *testing.T) {
	p := newPlace(t)
	var r fleettest.Record
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work"})
	session := asking(t, fleettest.Model{Calls: 1, Call: r.Call}, &r)
	start(t, Config{ID: "w1", Engine: p.Engine, Logs: p.Logs, Session: session, Slots: 1})
	u := p.Await(t.Context(), t)[0]
	if u.State != fleet.Ended || u.Result.Outcome != event.Completed || u.Result.Turns != 1 || len(r.Runs()) > 0 {
		t.Errorf("%+v, %+v, %v", u, u.Result, r.Runs())
	}
}

// A worker dies at every event around the question and the verdict: the call runs at most once, a
// person decides once, and the task completes.
func TestCrashAroundHeldCalls(t *testing.T) {
	p := newPlace(t)
	events := heldUntil(t, p, "whole", 1<<40)
	if events < 25 {
		t.Fatalf("only %d events", events)
	}
	for n := 1; n < events; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) { heldUntil(t, p, fmt.Sprintf("at%d", n), uint64(n)) })
	}
}

// heldUntil runs a task with a held call, which a person approves, with a worker that dies at an event, and
// a second one. It returns how many events the log has.
func heldUntil(t *testing.T, p *fleettest.Place, session string, at uint64) int {
	t.Helper()
	var r fleettest.Record
	config := asking(t, fleettest.Model{Calls: 1, Call: r.Call}, &r)
	logs := &dyingLogs{Logs: p.Logs, at: at, dead: make(chan struct{})}
	p.Submit(t, fleet.Task{Session: session, Prompt: "work"})
	stop := start(t, Config{
		ID: session + "-1", Engine: silentEngine{p.Engine, logs.dead}, Logs: logs, Session: config, Slots: 1,
		Hold: true,
	})
	verdicts, died := 0, logs.dead
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var u fleet.TaskStatus
	for u.State != fleet.Ended {
		select {
		case <-died:
			died = nil
			stop()
			stop = start(t, Config{
				ID: session + "-2", Engine: p.Engine, Logs: p.Logs, Session: config, Slots: 1, Hold: true,
			})
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("it does not end: %+v", u)
		}
		var err error
		if u, err = p.Index.State(ctx, session+"/1"); err != nil {
			t.Fatal(err)
		}
		if u.State == fleet.Held {
			if queued, err := answer(t, p, u, 0, event.Approved); err != nil || !queued {
				t.Fatal(queued, err)
			}
			verdicts++
		}
	}
	stop()
	if u.Result.Outcome != event.Completed || verdicts > 1 {
		t.Errorf("%d verdicts: %+v, %+v", verdicts, u, u.Result)
	}
	fleettest.CheckOnce(t, r.Runs())
	state := folded(t, p, session)
	if len(state.Waiting) > 0 {
		t.Errorf("%d inputs wait (C19)", len(state.Waiting))
	}
	return int(state.Seq)
}

// A worker dies after it has recorded an input of a task, a prompt or a verdict, and before a turn takes it. The
// task ends without a turn: it is cancelled, or cannot begin. The session's next task does not take the
// input: its turn has no other prompt, and runs no call that was approved for another task.
func TestInputsOfATaskThatEndsWithoutATurn(t *testing.T) {
	p := newPlace(t)
	heldUntil(t, p, "whole", 1<<40)
	var accepted, held uint64 // the prompt, and the approval
	for _, e := range p.Events(t, "whole") {
		switch {
		case e.Kind() == event.KindInputAccepted && accepted == 0:
			accepted = e.Seq
		case e.Kind() == event.KindInputHeld:
			held = e.Seq
		}
	}
	for name, c := range map[string]struct {
		at     uint64
		cancel bool
	}{
		"cancelled-prompt":  {accepted, true},
		"failed-prompt":     {accepted, false},
		"cancelled-verdict": {held, true},
		"failed-verdict":    {held, false},
	} {
		t.Run(name, func(t *testing.T) { endsWithoutATurn(t, p, name, c.at, c.cancel) })
	}
}

// endsWithoutATurn has a worker die at an event, ends its task, and runs another task of the session.
func endsWithoutATurn(t *testing.T, p *fleettest.Place, session string, at uint64, cancelled bool) {
	var r fleettest.Record
	config := asking(t, fleettest.Model{Calls: 1, Call: r.Call}, &r)
	logs := &dyingLogs{Logs: p.Logs, at: at, dead: make(chan struct{})}
	p.Submit(t, fleet.Task{Session: session, Prompt: "work"})
	stop := start(t, Config{
		ID: session + "-1", Engine: silentEngine{p.Engine, logs.dead}, Logs: logs, Session: config, Slots: 1,
		Hold: true,
	})
	for answered := false; !answered; {
		select {
		case <-logs.dead:
			answered = true
		case <-time.After(20 * time.Millisecond):
			u, err := p.Index.State(t.Context(), session+"/1")
			if err != nil {
				t.Fatal(err)
			}
			if u.State == fleet.Held {
				if _, err := answer(t, p, u, 0, event.Approved); err != nil {
					t.Fatal(err)
				}
				<-logs.dead
				answered = true
			}
		}
	}
	if cancelled {
		if ok, err := p.Engine.Cancel(t.Context(), session+"/1", "ada"); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	stop()
	p.Submit(t, fleet.Task{Session: session, Input: "2", Prompt: "what is the time?"})
	start(t, Config{
		ID: session + "-2", Engine: p.Engine, Logs: p.Logs, Slots: 1, Hold: true,
		Session: func(ctx context.Context, a fleet.Attempt) (settle.SessionConfig, error) {
			if a.Task.Input == "1" && !cancelled {
				return settle.SessionConfig{}, errors.New("there is no such model")
			}
			return config(ctx, a)
		},
	})
	p.Await(t.Context(), t)
	u, err := p.Index.State(t.Context(), session+"/1")
	want := event.Failed
	if cancelled {
		want = event.Aborted
	}
	if err != nil || u.State != fleet.Ended || u.Result.Outcome != want {
		t.Errorf("the first task: %+v, %+v, %v", u, u.Result, err)
	}
	if len(r.Runs()) > 0 {
		t.Errorf("a call of a task that has ended ran: %v", r.Runs())
	}
	state := folded(t, p, session)
	if last := state.Turns[len(state.Turns)-1]; len(last.Inputs) != 1 || last.Inputs[0].ID != "2" {
		t.Errorf("the other task's turn has the inputs %+v", last.Inputs)
	}
	if len(state.Waiting) > 0 {
		t.Errorf("%d inputs wait", len(state.Waiting))
	}
}
