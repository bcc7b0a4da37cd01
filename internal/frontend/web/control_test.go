package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/question"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// C10: all that interrupt at once get the one outcome, after the terminal
// event.
func TestInterruptsAtOnce(t *testing.T) {
	b := serve(t, setup{model: script.New().Otherwise(script.Turn(script.Text("I begin."), script.Stall()))})
	session := b.session("s")
	b.diff("with nothing running", object{}, ask[object](b, "POST", session+"/interrupt", nil, 200))
	b.input(session, "hello")
	b.until(session, kind(event.KindItemDelta))
	var wg sync.WaitGroup
	var got [8]object
	for n := range got {
		wg.Go(func() { // ends with the turn
			a, err := b.try("POST", session+"/interrupt", object{"hurry": n%2 == 0})
			if err != nil {
				t.Error(err)
				return
			}
			ended := false
			for _, e := range b.exported(session, unfinished()) {
				ended = ended || e.Terminal()
			}
			if !ended {
				t.Error("it was answered before the turn's end")
			}
			if err := json.Unmarshal(a.body, &got[n]); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	interrupted := 0
	for _, o := range got {
		switch o["outcome"] {
		case nil: // it came when nothing was running any more
		case "aborted":
			b.diff(
				"outcome",
				object{
					"turn":    "t000001",
					"outcome": "aborted",
					"reason":  "interrupted",
					"message": "interrupted",
					"by":      "api",
				},
				o,
			)
			interrupted++
		default:
			t.Errorf("%v", o)
		}
	}
	if interrupted == 0 {
		t.Error("nobody was told the outcome")
	}
	b.diff("with nothing running", object{}, ask[object](b, "POST", session+"/interrupt", nil, 200))
}

// C10: an interrupt for an input that has not arrived yet covers it.
func TestInterruptBeforeTheInput(t *testing.T) {
	b := serve(t, setup{model: script.New().Otherwise(script.Text("done"))})
	session := b.session("s")
	answered := make(chan answer, 1)
	go func() { // ends with the input below, or with the test's patience
		a, err := b.try("POST", session+"/interrupt", object{"input": "mine"})
		if err != nil {
			t.Error(err)
		}
		answered <- a // room for one
	}()
	// In either order of arrival, the response has the turn of the input.
	ask[object](b, "POST", session+"/inputs", object{"text": "hello", "input": "mine"}, 202)
	a := <-answered
	var o struct{ Turn, Outcome string }
	if err := json.Unmarshal(a.body, &o); err != nil || a.status != 200 || o.Turn != "t000001" || o.Outcome == "" {
		t.Errorf("%d %s", a.status, a.body)
	}
	ended := ask[object](b, "POST", session+"/interrupt", object{"input": "mine"}, 200)
	if ended["turn"] != "t000001" || ended["outcome"] != o.Outcome {
		t.Errorf("of a turn that is over: %v", ended)
	}
}

// asking returns a server whose model calls act, and counts the calls that run.
func asking(t *testing.T, more ...script.Step) (b *harness, session string, ran func() int) {
	t.Helper()
	var mu sync.Mutex
	runs := 0
	tools := []tool.Tool{act(t, func(context.Context) {
		mu.Lock()
		defer mu.Unlock()
		runs++
	})}
	steps := append([]script.Step{script.Call("act", `{"what":"it"}`)}, more...)
	b = serve(t, setup{model: script.New(steps...).Otherwise(script.Text("done")), tools: tools})
	session = b.session("s")
	b.input(session, "do it")
	return b, session, func() int {
		mu.Lock()
		defer mu.Unlock()
		return runs
	}
}

// awaitApproval waits for an approval that is requested, and returns its id.
func (b *harness) awaitApproval(session string) string {
	b.Helper()
	e := b.until(session, kind(event.KindApprovalRequested))
	return e.Data.(event.ApprovalRequested).Approval
}

// C16: two clients answer at the same time: one answer counts, and the other client learns which.
func TestRacedApprovals(t *testing.T) {
	for round := range 8 {
		b, session, ran := asking(t)
		id := b.awaitApproval(session)
		snapshot := ask[struct {
			State     string
			Approvals []struct{ Approval, Tool string }
		}](b, "GET", session, nil, 200)
		if snapshot.State != "waiting" || len(snapshot.Approvals) != 1 ||
			snapshot.Approvals[0].Approval != id || snapshot.Approvals[0].Tool != "act" {
			t.Errorf("who comes now sees %v", snapshot)
		}
		words := []string{"approved", "denied"}
		var got [2]answer
		var wg sync.WaitGroup
		for n := range words {
			wg.Go(func() { // ends with the answer
				a, err := b.try("POST", session+"/approvals/"+id, object{"verdict": words[n], "message": "so I say"})
				if err != nil {
					t.Error(err)
				}
				got[n] = a
			})
		}
		wg.Wait()
		winner := 0
		if got[1].status == http.StatusNoContent {
			winner = 1
		}
		var p struct{ Verdict, By, Type string }
		_ = json.Unmarshal(got[1-winner].body, &p)
		if got[winner].status != http.StatusNoContent || got[1-winner].status != http.StatusConflict ||
			p.Verdict != words[winner] || p.By != "api" {
			t.Fatalf("round %d: %d and %d, %s", round, got[0].status, got[1].status, got[1-winner].body)
		}
		b.until(session, event.Event.Terminal)
		if want := 1 - winner; ran() != want {
			t.Fatalf("round %d: %s won, and the call ran %d times", round, words[winner], ran())
		}
		b.stop()
	}
}

// C16: an answer after the turn's end runs nothing, and its response says so.
func TestLateApproval(t *testing.T) {
	b, session, ran := asking(t)
	id := b.awaitApproval(session)
	ask[object](b, "POST", session+"/interrupt", nil, 200)
	p := ask[object](b, "POST", session+"/approvals/"+id, object{"verdict": "approved"}, 409)
	if p["verdict"] != "expired" {
		t.Errorf("%v", p)
	}
	if ran() != 0 {
		t.Error("it ran")
	}
	ask[object](b, "POST", session+"/approvals/p000099", object{"verdict": "approved"}, 404)
	b.exported(session, unfinished())
}

// An answer can have the call explained, or changed before it runs. The log says so.
func TestApprovalExplainedThenChanged(t *testing.T) {
	b, session, ran := asking(t, script.Call("act", `{"what":"it"}`))
	id := b.awaitApproval(session)
	ask[object](b, "POST", session+"/approvals/"+id, object{"verdict": "approved", "explain": true}, 422)
	ask[object](b, "POST", session+"/approvals/"+id, object{"verdict": "denied", "explain": true}, 204)
	end := func(id string) event.ApprovalEnded {
		return b.until(session, func(e event.Event) bool {
			d, ok := e.Data.(event.ApprovalEnded)
			return ok && d.Approval == id
		}).Data.(event.ApprovalEnded)
	}
	if d := end(id); !d.Explain || d.Verdict != event.Denied || !strings.Contains(d.Message, "explain") || ran() != 0 {
		t.Errorf("the approval ended with %+v", d)
	}
	body := object{"verdict": "approved", "arguments": `{"what":"less"}`}
	ask[object](b, "POST", session+"/approvals/p000002", body, 204)
	if d := end("p000002"); d.Arguments != `{"what":"less"}` || d.Explain {
		t.Errorf("the approval ended with %+v", d)
	}
	b.until(session, event.Event.Terminal)
	if ran() != 1 {
		t.Errorf("the call ran %d times", ran())
	}
}

func TestAbortedApproval(t *testing.T) {
	b, session, ran := asking(t)
	ask[object](b, "POST", session+"/approvals/"+b.awaitApproval(session), object{"verdict": "aborted"}, 204)
	e := b.until(session, event.Event.Terminal)
	if d, ok := e.Data.(event.TurnAborted); !ok || d.Reason != event.Interrupted || ran() != 0 {
		t.Errorf("the turn ended with %v; the call ran %d times", e.Data, ran())
	}
}

// A question shows the whole call, or the call is refused.
func TestApprovalIsWhole(t *testing.T) {
	tools := []tool.Tool{act(t, func(context.Context) { t.Error("it ran") })}
	b := serve(t, setup{tools: tools, model: script.New(
		script.Call("act", `{"what":"`+strings.Repeat("x", question.MaxText)+`"}`),
		script.Call("act", `{"what":"one\ntwo\u202e"}`),
	).Otherwise(script.Text("done"))})
	session := b.session("s")
	b.input(session, "do it")
	ended := b.until(session, kind(event.KindApprovalEnded)).Data.(event.ApprovalEnded)
	if ended.Verdict != event.Denied || ended.Policy != "too long to show" {
		t.Errorf("the approval ended with %+v", ended)
	}
	b.until(session, func(e event.Event) bool {
		d, ok := e.Data.(event.ApprovalRequested)
		return ok && d.Approval == "p000002"
	})
	var snapshot struct {
		Approvals []struct{ Approval, Text, Covers string }
	}
	if err := json.Unmarshal(b.send("GET", session, nil).body, &snapshot); err != nil {
		t.Fatal(err)
	}
	if a := snapshot.Approvals[0]; a.Text != "act\n  what:\n      one\n      two⟨U+202E⟩" || a.Covers == "" {
		t.Errorf("the approval is %+v", a)
	}
	ask[object](b, "POST", session+"/approvals/p000002", object{"verdict": "denied"}, 204)
	b.until(session, event.Event.Terminal)
}

func TestApprovedForTheSession(t *testing.T) {
	b, session, ran := asking(t, script.Call("act", `{"what":"it"}`))
	ask[object](b, "POST", session+"/approvals/"+b.awaitApproval(session), object{"verdict": "approved_session"}, 204)
	b.until(session, event.Event.Terminal)
	if ran() != 2 {
		t.Errorf("the same call ran %d times, want 2", ran())
	}
}

func TestCancelledCall(t *testing.T) {
	tools := []tool.Tool{act(t, func(ctx context.Context) { <-ctx.Done() })}
	acts := script.New(script.Call("act", `{}`)).Otherwise(script.Text("done"))
	b := serve(t, setup{model: acts, tools: tools, allow: true})
	session := b.session("s")
	b.input(session, "do it")
	e := b.until(session, kind(event.KindCallStarted))
	ask[object](b, "POST", session+"/calls/"+e.Item+"/cancel", nil, 204)
	end := b.until(session, event.Event.Terminal)
	if end.Kind() != event.KindTurnCompleted {
		t.Errorf("the turn did not go on: %v", end.Data)
	}
	ask[object](b, "POST", session+"/calls/"+e.Item+"/cancel", nil, 409)
}

// Inputs wait, are dropped, and are accepted once (C19).
func TestInputs(t *testing.T) {
	b := serve(t, setup{model: script.New().Otherwise(script.Stall())})
	session := b.session("s")
	first := ask[object](b, "POST", session+"/inputs", object{"text": "one", "input": "a b/c"}, 202)
	again := ask[object](b, "POST", session+"/inputs", object{"text": "one", "input": "a b/c"}, 202)
	b.diff("again", object{"input": "a b/c", "seq": 0.0, "again": true}, again)
	if first["again"] != false || first["input"] != "a b/c" {
		t.Errorf("%v", first)
	}
	b.until(session, kind(event.KindAttemptStarted))
	ask[object](b, "POST", session+"/inputs", object{"text": "two", "input": "x/y"}, 202)
	ask[object](b, "POST", session+"/inputs", object{"text": "three", "mode": "steer"}, 202)
	waiting := func() string {
		b.Helper()
		text, err := json.Marshal(ask[object](b, "GET", session, nil, 200)["waiting"])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	b.diff(
		"waiting",
		`[{"held":false,"input":"x/y","mode":"queue","text":"two"},{"held":false,"input":"n000003","mode":"steer","text":"three"}]`,
		waiting(),
	)
	ask[object](b, "DELETE", session+"/inputs/x%2Fy", nil, 204)
	ask[object](b, "DELETE", session+"/inputs/x%2Fy", nil, 409)
	ask[object](b, "DELETE", session+"/inputs/a%20b%2Fc", nil, 409)
	ask[object](b, "POST", session+"/interrupt", nil, 200)
	b.diff("held", `[{"held":true,"input":"n000003","mode":"steer","text":"three"}]`, waiting())
	for _, body := range []string{`{}`, `{"text":" \n"}`, `null`, ``} {
		ask[object](b, "POST", session+"/inputs", body, 400)
	}
}

func TestImages(t *testing.T) {
	b := serve(t, setup{})
	session := b.session("s")
	images := []object{{"media_type": "image/png", "data": "iVBORw0KGgo="}}
	ask[object](b, "POST", session+"/inputs", object{"images": images}, 202)
	e := b.until(session, kind(event.KindInputAccepted))
	b.diff(
		"images", []event.Image{{MediaType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}},
		e.Data.(event.InputAccepted).Images,
	)
	large := `{"text":"` + strings.Repeat("x", 1<<20) + `"}` // larger than other bodies may be
	ask[object](b, "POST", session+"/inputs", large, 202)
	ask[object](b, "POST", session+"/interrupt", large, 413)
}

// A replacing input ends the turn that runs.
func TestReplacingInput(t *testing.T) {
	b := serve(t, setup{model: script.New(script.Stall()).Otherwise(script.Text("done"))})
	session := b.session("s")
	b.input(session, "one")
	b.until(session, kind(event.KindAttemptStarted))
	ask[object](b, "POST", session+"/inputs", object{"text": "two", "mode": "replace"}, 202)
	var ends []string
	for e := range b.watch(t.Context(), session, 0) {
		if e.Terminal() {
			if ends = append(ends, fmt.Sprint(e.Kind())); len(ends) == 2 {
				break
			}
		}
	}
	b.diff("ends", []string{"turn.aborted", "turn.completed"}, ends)
}

func TestKilledJob(t *testing.T) {
	killed := make(chan string, 1)
	acts := script.New(script.Call("act", `{}`)).Otherwise(script.Text("done"))
	b := serve(t, setup{model: acts, allow: true, config: jobs(t, killed)})
	session := b.session("s")
	b.input(session, "serve")
	b.until(session, event.Event.Terminal)
	snapshot := ask[struct{ Jobs []object }](b, "GET", session, nil, 200)
	b.diff("jobs", []object{{"job": "j000001", "pid": 7.0, "command": "server"}}, snapshot.Jobs)
	ask[object](b, "POST", session+"/jobs/j000001/kill", nil, 204)
	b.diff("killed", "j000001", <-killed)
	ask[object](b, "POST", session+"/jobs/j000001/kill", nil, 404)
	ask[object](b, "POST", session+"/jobs/j000002/kill", nil, 404)
}
