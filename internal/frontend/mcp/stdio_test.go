package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

func TestRunAndReply(t *testing.T) {
	b := start(t, "", script.Text("The ", "first."), script.Text("The second."))
	b.initialize()
	b.call(1, "run", map[string]any{"prompt": "one"})
	first := b.outcome(1)
	if first.Outcome != "completed" || first.Answer != "The first." || first.isError || first.Session == "" ||
		!strings.HasPrefix(first.text, "The first.") {
		t.Errorf("the answer is %+v", first)
	}
	b.call(2, "reply", map[string]any{"session": first.Session, "prompt": "two"})
	if second := b.outcome(2); second.Answer != "The second." || second.Session != first.Session {
		t.Errorf("the answer is %+v", second)
	}
	b.call(3, "status", map[string]any{"session": first.Session})
	if s := b.outcome(3); s.State != "idle" || s.Answer != "The second." || s.Outcome != "completed" {
		t.Errorf("the status is %+v", s)
	}
	b.call(4, "sessions", nil)
	if s := b.outcome(4).Sessions; len(s) != 1 || s[0].Title != "one" || s[0].Session != first.Session {
		t.Errorf("the sessions are %+v", s)
	}
	progress := 0
	for _, m := range b.heard() {
		if m.Method == "notifications/progress" && strings.Contains(string(m.Params), `"p1"`) {
			progress++
		}
	}
	if progress < 2 {
		t.Errorf("%d notifications of progress", progress)
	}
}

// A session that is not open is opened where it works.
func TestReplyOpens(t *testing.T) {
	b := start(t, "", script.Text("one"), script.Text("two"))
	b.initialize()
	b.call(1, "run", map[string]any{"prompt": "one"})
	first := b.outcome(1)
	if err := b.hosts.Close(t.Context(), first.Session, event.Shutdown, "test"); err != nil {
		t.Fatal(err)
	}
	b.call(2, "status", map[string]any{"session": first.Session})
	if s := b.outcome(2); s.State != "closed" || s.Answer != "one" {
		t.Errorf("the status is %+v", s)
	}
	b.call(3, "interrupt", map[string]any{"session": first.Session})
	if s := b.outcome(3); s.Outcome != "idle" {
		t.Errorf("the interrupt was answered %+v", s)
	}
	b.call(4, "reply", map[string]any{"session": first.Session, "prompt": "two"})
	if second := b.outcome(4); second.Answer != "two" {
		t.Errorf("the answer is %+v", second)
	}
	for tool, arguments := range map[string]map[string]any{"reply": {"prompt": "x"}, "status": {}, "interrupt": {}} {
		arguments["session"] = "there-is-none"
		b.call(tool, tool, arguments)
		if out := b.outcome(tool); !out.isError || !strings.Contains(out.text, "there is no session") {
			t.Errorf("%s was answered %+v", tool, out)
		}
	}
}

func TestFailure(t *testing.T) {
	b := start(t, "", script.Fail(model.NewError(model.ErrAuth, "no such key")))
	b.initialize()
	b.call(1, "run", map[string]any{"prompt": "one"})
	out := b.outcome(1)
	if out.Outcome != "failed" || !out.isError || out.Error == nil || out.Error.Name != event.NameProvider ||
		!strings.Contains(out.text, "no such key") {
		t.Errorf("the answer is %+v", out)
	}
}

// A cancelled request interrupts the turn, and is not answered.
func TestCancelledRequest(t *testing.T) {
	step, begun := waits()
	b := start(t, "", step, script.Text("again"))
	b.initialize()
	b.call(1, "run", map[string]any{"prompt": "one"})
	b.begun(begun)
	b.notify("notifications/cancelled", map[string]any{"requestId": 1})
	b.call(2, "sessions", nil)
	session := b.outcome(2).Sessions[0].Session
	b.call(3, "reply", map[string]any{"session": session, "prompt": "two"})
	if out := b.outcome(3); out.Answer != "again" {
		t.Errorf("the answer is %+v", out)
	}
	turn := b.hosts.Get(session).State().Turns[0]
	if turn.Cause.Outcome != event.Aborted || turn.Cause.Reason != event.Interrupted || turn.Cause.By != "tester" {
		t.Errorf("the turn ended with %+v", turn.Cause)
	}
	b.silent(1)
}

// A cancellation in the same breath is not lost.
func TestCancelledAtOnce(t *testing.T) {
	b := start(t, "")
	b.model.Otherwise(script.Turn(script.Text("x"), script.Stall()))
	b.initialize()
	for n := range 50 {
		id := fmt.Sprint("c", n)
		b.call(id, "run", map[string]any{"prompt": "one"})
		b.notify("notifications/cancelled", map[string]any{"requestId": id})
	}
	b.call("after", "sessions", nil)
	b.outcome("after")
	_ = b.in.Close()
	if err := b.leave(); err != nil {
		t.Error(err)
	}
	for n := range 50 {
		b.silent(fmt.Sprint("c", n))
	}
	for _, s := range b.hosts.All() {
		if st := s.State(); st.Open || st.Running() != nil {
			t.Errorf("session %s is open", s.ID())
		}
	}
}

// Each request that waits for the same turn is answered, after it has ended, with its reason; a
// request that finds nothing running, at once.
func TestInterrupt(t *testing.T) {
	step, begun := waits()
	b := start(t, "", step)
	b.initialize()
	b.call(0, "interrupt", nil)
	if out := b.outcome(0); out.Outcome != "idle" || out.isError {
		t.Errorf("the interrupt was answered %+v", out)
	}
	b.call(1, "run", map[string]any{"prompt": "one"})
	b.begun(begun)
	const callers = 20
	for n := range callers {
		b.call(10+n, "interrupt", nil)
	}
	for n := range callers {
		out := b.outcome(10 + n)
		// A request that comes after the turn's end finds nothing running.
		if out.Outcome != "idle" && (out.Outcome != "aborted" || out.AbortReason != "interrupted") {
			t.Errorf("interrupt %d was answered %+v", n, out)
		}
	}
	if out := b.outcome(10); out.AbortReason != "interrupted" {
		t.Errorf("the first interrupt was answered %+v", out)
	}
	out := b.outcome(1)
	if out.Outcome != "aborted" || out.AbortReason != "interrupted" || !out.isError || out.Turn == "" {
		t.Errorf("the run was answered %+v", out)
	}
	b.call(40, "interrupt", map[string]any{"session": out.Session})
	if out := b.outcome(40); out.Outcome != "idle" {
		t.Errorf("the interrupt was answered %+v", out)
	}
}

// C10: an interrupt covers everything that was sent before it on its connection, also requests that
// have not begun, and nothing that was sent after.
func TestInterruptCoversWhatCameBefore(t *testing.T) {
	b := start(t, "")
	b.model.Otherwise(script.Turn(script.Text("x"), script.Stall()))
	b.initialize()
	for n := range 20 {
		run, stop := fmt.Sprint("run", n), fmt.Sprint("stop", n)
		b.call(run, "run", map[string]any{"prompt": "one"})
		b.call(stop, "interrupt", nil)
		if out := b.outcome(stop); out.AbortReason != "interrupted" {
			t.Fatalf("the interrupt was answered %+v", out)
		}
		out := b.outcome(run)
		if out.AbortReason != "interrupted" {
			t.Fatalf("the run was answered %+v", out)
		}
		first, second := fmt.Sprint("first", n), fmt.Sprint("second", n)
		b.call(first, "reply", map[string]any{"session": out.Session, "prompt": "two"})
		b.call(stop+"b", "interrupt", map[string]any{"session": out.Session})
		b.call(second, "reply", map[string]any{"session": out.Session, "prompt": "three"})
		if out := b.outcome(first); out.AbortReason != "interrupted" {
			t.Fatalf("the reply was answered %+v", out)
		}
		b.call(stop+"c", "interrupt", map[string]any{"session": out.Session})
		if out := b.outcome(second); out.Outcome != "aborted" || out.Turn == "" {
			t.Fatalf("the second reply was answered %+v", out)
		}
	}
}

func TestReplace(t *testing.T) {
	step, begun := waits()
	b := start(t, "", step, script.Text("the new one"))
	b.initialize()
	b.call(1, "run", map[string]any{"prompt": "one"})
	b.begun(begun)
	b.call(2, "sessions", nil)
	session := b.outcome(2).Sessions[0].Session
	b.call(3, "reply", map[string]any{"session": session, "prompt": "instead", "mode": "replace"})
	if out := b.outcome(1); out.AbortReason != "replaced" || out.Message != "replaced by a new input" {
		t.Errorf("the run was answered %+v", out)
	}
	if out := b.outcome(3); out.Answer != "the new one" {
		t.Errorf("the reply was answered %+v", out)
	}
}

// An input that waits behind an interrupted turn is held, and its response says so; an input that
// its client cancels is withdrawn.
func TestWaitingReplies(t *testing.T) {
	step, begun := waits()
	b := start(t, "", step)
	b.initialize()
	b.call(1, "run", map[string]any{"prompt": "one"})
	b.begun(begun)
	b.call(2, "sessions", nil)
	session := b.outcome(2).Sessions[0].Session
	b.call(3, "reply", map[string]any{"session": session, "prompt": "kept"})
	b.call(4, "reply", map[string]any{"session": session, "prompt": "cancelled"})
	b.call(5, "status", map[string]any{"session": session})
	if s := b.outcome(5); len(s.Waiting) != 2 || s.State != "running" {
		t.Errorf("the status is %+v", s)
	}
	b.notify("notifications/cancelled", map[string]any{"requestId": 4})
	for n := 0; ; n++ {
		id := fmt.Sprint("s", n)
		b.call(id, "status", map[string]any{"session": session})
		if s := b.outcome(id); len(s.Waiting) == 1 {
			break
		}
	}
	b.call(6, "interrupt", map[string]any{"session": session})
	if out := b.outcome(6); out.AbortReason != "interrupted" {
		t.Errorf("the interrupt was answered %+v", out)
	}
	if out := b.outcome(3); out.Outcome != "held" || out.AbortReason != "interrupted" || !out.isError {
		t.Errorf("the reply was answered %+v", out)
	}
	b.silent(4)
}

func TestEndings(t *testing.T) {
	for name, end := range map[string]func(*peer){
		"stdin":  func(b *peer) { _ = b.in.Close() },
		"signal": func(b *peer) { b.stops <- stdio.Stop{Reason: event.Shutdown, By: "signal:SIGTERM"} },
	} {
		t.Run(name, func(t *testing.T) {
			step, begun := waits()
			b := start(t, "", step)
			b.initialize()
			b.call(1, "run", map[string]any{"prompt": "one"})
			b.begun(begun)
			end(b)
			if err := b.leave(); err != nil {
				t.Error(err)
			}
			if out := b.outcome(1); out.AbortReason != "shutdown" || out.Outcome != "aborted" {
				t.Errorf("the run was answered %+v", out)
			}
		})
	}
	t.Run("stdout", func(t *testing.T) {
		step, begun := waits()
		b := start(t, "", step)
		b.initialize()
		b.call(1, "run", map[string]any{"prompt": "one"})
		b.begun(begun)
		_ = b.out.Close() // the next write fails
		b.call(2, "status", map[string]any{"session": "x"})
		if err := b.leave(); err != nil {
			t.Error(err)
		}
	})
}

// A request that was sent before the input ended is answered with its result, however long it takes
// to begin; a request that could not begin in time was not begun.
func TestInputEndsAtOnce(t *testing.T) {
	for opening, want := range map[time.Duration]string{0: "aborted", 100 * time.Millisecond: "aborted", 300 * time.Millisecond: "refused"} {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, "", script.Stall())
			settings := b.hosts.Settings
			b.hosts.Settings = func(dir string, given map[string]string) (*config.Resolved, error) {
				time.Sleep(opening) // virtual
				return settings(dir, given)
			}
			b.initialize()
			began := time.Now()
			b.call(1, "run", map[string]any{"prompt": "one"})
			_ = b.in.Close()
			if err := b.leave(); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > 1500*time.Millisecond {
				t.Errorf("opening takes %v: it ended after %v", opening, took)
			}
			switch want {
			case "aborted":
				if out := b.outcome(1); out.Outcome != want || out.AbortReason != "shutdown" || out.Session == "" {
					t.Errorf("opening takes %v: the run was answered %+v", opening, out)
				}
			case "refused":
				if out := b.outcome(1); !out.isError ||
					!strings.Contains(out.text, "settle is ending; nothing was started") {
					t.Errorf("opening takes %v: the run was answered %+v", opening, out)
				}
			}
		})
	}
}

// An invalid message is refused, and the connection continues.
func TestMalformed(t *testing.T) {
	b := start(t, "")
	b.initialize()
	for _, c := range []struct {
		line string
		code int
		id   any
	}{
		{`{`, -32700, nil},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, -32600, nil},
		{`17`, -32600, nil},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600, nil},
		{`{"id":1,"method":"ping"}`, -32600, 1.0},
		{`{"id":"a","method":"ping"}`, -32600, "a"},
		// The SDK would answer them under another id.
		{`{"jsonrpc":"2.0","id":0.25,"method":"ping"}`, -32600, 0.25},
		{`{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}`, -32600, 1e20},
	} {
		before := len(b.heard())
		b.line(c.line)
		b.find("refusal of "+c.line, func(message) bool { return len(b.heard()) > before })
		if m := b.heard()[before]; m.Error == nil || m.Error.Code != c.code || m.ID != c.id {
			t.Errorf("%s: %+v", c.line, m)
		}
	}
	b.line("")
	b.request(9, "ping", nil)
	b.answer(9)
	b.request(10, "no/such/method", map[string]any{})
	if m := b.answer(10); m.Error == nil || m.Error.Code != -32601 {
		t.Errorf("an unknown method was answered %+v", m)
	}
	b.call(11, "nothing", nil)
	if m := b.answer(11); m.Error == nil || m.Error.Code != -32602 {
		t.Errorf("an unknown tool was answered %+v", m)
	}
}

// A client learns the session of its request while it runs, also without a progress token, and
// can interrupt it.
func TestRunNamesItsSessionWhileItRuns(t *testing.T) {
	b := start(t, "allow", script.Stall())
	b.initialize()
	b.request(1, "tools/call", map[string]any{"name": "run", "arguments": map[string]any{"prompt": "go on"}})
	var named struct {
		Level string
		Data  struct{ Session, Turn, Prompt string }
	}
	told := b.find("a log message", func(m message) bool { return m.Method == "notifications/message" })
	if err := json.Unmarshal(told.Params, &named); err != nil || named.Level != "notice" ||
		named.Data.Prompt != "go on" {
		t.Errorf("the client received %s: %v", told.Params, err)
	}
	b.request(2, "tools/call", map[string]any{
		"name": "interrupt", "arguments": map[string]any{"session": named.Data.Session},
	})
	if got := string(b.answer(1).Result); !strings.Contains(got, `"abortReason":"interrupted"`) ||
		!strings.Contains(got, `"turn":"`+named.Data.Turn+`"`) {
		t.Errorf("run was answered %s", got)
	}
}
