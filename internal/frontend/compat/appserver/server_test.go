package appserver

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/internal/client/stdio"

	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

func TestGreeting(t *testing.T) {
	c := serve(t, script.New(), t.TempDir())
	c.refuse(-32600, "Not initialized", "thread/list", nil)
	hello := map[string]any{
		"clientInfo":   map[string]any{"name": "test", "version": "1"},
		"capabilities": map[string]any{"optOutNotificationMethods": []string{"thread/started"}},
	}
	c.Must("initialize", hello)
	c.refuse(-32600, "Already initialized", "initialize", hello)
	c.refuse(-32601, "no method", "thread/fly", nil)
	c.refuse(-32602, "thread/start", "thread/start", map[string]any{"cwd": 5})
	c.thread()
	if n := c.Count("thread/started"); n > 0 {
		t.Error("a notification came that was not wanted")
	}
}

// Requests that are sent without waiting for answers are served in order: an interrupt right after
// its turn's start is not lost (C10).
func TestInOrder(t *testing.T) {
	c := start(t, script.New().Otherwise(script.Stall()))
	thread := c.thread()
	for n := range 20 {
		began := c.Send("turn/start", map[string]any{"threadId": thread, "input": say("go")})
		cut := c.Send("turn/interrupt", map[string]any{"threadId": thread, "turnId": ""})
		for _, o := range []*jsonrpc.Outgoing{began, cut} {
			if err := o.Wait(t.Context(), nil); err != nil {
				t.Fatalf("%s: %v", o.Method, err)
			}
		}
		c.Seen(`"status":"interrupted"`, n+1)
	}
	c.refuse(
		-32600,
		"no active turn to interrupt",
		"turn/interrupt",
		map[string]any{"threadId": thread, "turnId": "t000001"},
	)
}

// The answer to turn/start comes before any notification about the turn.
func TestAnswersComeFirst(t *testing.T) {
	c := start(t, script.New().Otherwise(script.Text("ok")))
	thread := c.thread()
	for n := range 10 {
		id := c.turn(thread, "go")
		c.Seen(`"method":"turn/completed"`, n+1)
		for _, line := range c.Lines() {
			if strings.Contains(line, `"`+id+`"`) {
				if !strings.Contains(line, `"result":{"turn":{`) {
					t.Errorf("first of all it was said: %s", line)
				}
				break
			}
		}
	}
}

// Interrupts are answered after the ends of the items, directly before the end of the turn (C10).
func TestInterruptAnswerOrder(t *testing.T) {
	c := start(t, script.New().Otherwise(script.Turn(
		script.Chunk(model.Chunk{Kind: model.ItemStart, Role: model.Assistant}),
		script.Chunk(model.Chunk{Kind: model.Delta, Role: model.Assistant, Text: "I try"}), script.Stall(),
	)))
	thread := c.thread()
	for n := 1; n <= 100; n++ {
		before, isLate := len(c.Lines()), c.interruptTwice(thread, n)
		if isLate { // the turn had ended before the server read the second request
			continue
		}
		var got []string
		for _, line := range c.Lines()[before:] {
			for _, part := range []string{
				`"result":{}`, `"type":"agentMessage"`, "thread/status/changed", "turn/completed",
			} {
				if strings.Contains(line, part) &&
					(strings.Contains(line, "item/completed") || part != `"type":"agentMessage"`) {
					got = append(got, part)
					break
				}
			}
		}
		want := []string{
			"thread/status/changed", `"type":"agentMessage"`, `"result":{}`, `"result":{}`, "thread/status/changed",
			"turn/completed",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		return
	}
	t.Error("each turn ended before the second request")
}

// interruptTwice interrupts the thread's nth turn with two requests, and waits for its end. It
// reports whether the turn had ended before the second.
func (c *client) interruptTwice(thread string, n int) (isLate bool) {
	turn := c.turn(thread, "go")
	c.Seen(`"method":"item/agentMessage/delta"`, n)
	params := map[string]any{"threadId": thread, "turnId": turn}
	first, second := c.Send("turn/interrupt", params), c.Send("turn/interrupt", params)
	if err := first.Wait(c.Context(), nil); err != nil {
		c.Error(err)
	}
	if err := second.Wait(c.Context(), nil); err != nil {
		if isLate = strings.Contains(err.Error(), "no active turn"); !isLate {
			c.Error(err)
		}
	}
	c.Seen(`"method":"turn/completed"`, n)
	return isLate
}

// However many interrupt at once: all are answered, before the turn ends.
func TestManyInterrupts(t *testing.T) {
	c := start(t, script.New(script.Stall()))
	thread := c.thread()
	turn := c.turn(thread, "go")
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, err := c.Call("turn/interrupt", map[string]any{"threadId": thread, "turnId": turn}); err != nil &&
				!strings.Contains(err.Error(), "no active turn") {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	c.Seen(`"method":"turn/completed"`, 1)
	first := ""
	for _, line := range c.Lines() {
		if strings.Contains(line, `"result":{}`) || strings.Contains(line, "turn/completed") {
			first = line
			break
		}
	}
	if !strings.Contains(first, "result") {
		t.Errorf("the turn ended before anybody was answered: %s", first)
	}
}

// Requests beyond the bound are refused, and accepted requests are answered.
func TestOverload(t *testing.T) {
	release := make(chan struct{})
	c := start(t, script.New(), func(o *Options) { o.MaxRequests = 2 })
	c.block = func() { <-release }
	var waiting []*jsonrpc.Outgoing
	for range 2 {
		waiting = append(waiting, c.Send("config/read", nil))
	}
	c.refuse(-32001, "overloaded", "config/read", nil)
	close(release)
	for _, o := range waiting {
		if err := o.Wait(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
	c.Must("config/read", nil)
}

// A turn that nobody follows runs to its end; then the thread is closed. Nobody
// can be asked meanwhile.
func TestUnsubscribed(t *testing.T) {
	asked := make(chan struct{})
	c := start(t, script.New(
		script.Turn(
			script.Do(func() { <-asked }),
			script.Call("shell", `{"command":"touch made"}`),
		),
		script.Text("Nobody?"),
		script.Text("Here."),
	))
	thread := c.thread(map[string]any{"approvalPolicy": "untrusted"})
	c.Seen("thread/started", 1)
	c.turn(thread, "go")
	c.Seen(`"method":"item/completed"`, 1) // then it is quiet until the next question
	c.diff("unsubscribed", "unsubscribed", c.Must("thread/unsubscribe", map[string]any{"threadId": thread})["status"])
	c.diff("again", "notSubscribed", c.Must("thread/unsubscribe", map[string]any{"threadId": thread})["status"])
	before := len(c.Lines())
	close(asked)
	c.Seen("thread/closed", 1)
	if late := c.Lines()[before:]; len(late) != 2 { // notLoaded, closed
		t.Errorf("it was told:\n%s", strings.Join(late, "\n"))
	}
	read := c.Must("thread/read", map[string]any{"threadId": thread, "includeTurns": true})
	raw, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), `"status":"declined"`) || !strings.Contains(string(raw), "Nobody?") {
		t.Errorf("the thread is %s", raw)
	}
	c.diff("not loaded", "notLoaded", c.Must("thread/unsubscribe", map[string]any{"threadId": thread})["status"])
	c.Must("thread/resume", map[string]any{"threadId": thread})
	c.turn(thread, "and now?")
	c.Seen(`"delta":"Here."`, 1)
}

// A question that is open when the client unsubscribes is not waited for.
func TestUnsubscribedWhileAsked(t *testing.T) {
	c := start(t, script.New(script.Call("shell", `{"command":"touch made"}`), script.Text("Well.")))
	thread := c.thread(map[string]any{"approvalPolicy": "untrusted"})
	c.turn(thread, "go")
	c.Seen("requestApproval", 1)
	c.Must("thread/unsubscribe", map[string]any{"threadId": thread})
	c.Seen("serverRequest/resolved", 1)
	c.Seen("thread/closed", 1)
	raw, err := json.Marshal(c.Must("thread/read", map[string]any{"threadId": thread, "includeTurns": true}))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), `"status":"declined"`) || !strings.Contains(string(raw), "Well.") {
		t.Errorf("the thread is %s", raw)
	}
}

// If the policy is never to ask, calls that need an approval are denied, and a turn can change
// that.
func TestNeverAsks(t *testing.T) {
	c := start(t, script.New(
		script.Call("shell", `{"command":"touch made"}`), script.Text("No."),
		script.Call("shell", `{"command":"touch made"}`), script.Text("Yes."),
	))
	thread := c.thread(map[string]any{"sandbox": "read-only"})
	c.turn(thread, "go")
	c.Seen(`"delta":"No."`, 1)
	c.diff("declined", 1, c.Count(`"status":"declined"`))
	c.answer("accept")
	c.Seen(`"method":"turn/completed"`, 1)
	c.turn(thread, "go", map[string]any{"approvalPolicy": "on-request"})
	c.Seen(`"delta":"Yes."`, 1)
	c.diff("asked", 1, c.Count("requestApproval"))
}

// An input during a turn joins it; an input while the turn is being interrupted does not.
func TestSaidMeanwhile(t *testing.T) {
	hold := make(chan struct{})
	c := start(t, script.New(
		script.Turn(script.Do(func() { <-hold }), script.Call("shell", `{"command":"true"}`)), script.Text("Both."),
	))
	thread := c.thread()
	first := c.turn(thread, "one", map[string]any{"clientUserMessageId": "mine"})
	c.diff("the turn it joins", first, c.turn(thread, "two", map[string]any{"clientUserMessageId": "mine"}))
	c.refuse(
		-32600,
		"expected active turn id x but found "+first,
		"turn/steer",
		map[string]any{"threadId": thread, "expectedTurnId": "x", "input": say("three")},
	)
	c.diff(
		"steered", first,
		c.Must("turn/steer", map[string]any{"threadId": thread, "expectedTurnId": first, "input": say("three")})["turnId"],
	)
	close(hold)
	c.Seen(`"method":"turn/completed"`, 1)
	c.refuse(
		-32600,
		"no active turn to steer",
		"turn/steer",
		map[string]any{"threadId": thread, "expectedTurnId": first, "input": say("four")},
	)
	if n := c.Count(`"type":"userMessage"`); n != 6 { // started and completed
		t.Errorf("%d notifications are about what the user said", n)
	}
	if n := c.Count(`"clientId":"mine"`); n != 2 {
		t.Errorf("%d notifications name the client's id", n)
	}
}

// The last line of the input need not end to be answered.
func TestLastLine(t *testing.T) {
	for line, answer := range map[string]string{`{"id":77,"method":"thread/loaded/list"}`: `"id":77,"result"`, `{"id":7`: `"id":null,"error"`} {
		c := serve(t, script.New(), t.TempDir())
		if _, err := io.WriteString(c.In, `{"id":1,"method":"initialize","params":{"clientInfo":{"name":"t"}}}`+"\n"+line); err != nil {
			t.Fatal(err)
		}
		c.End()
		c.Seen(answer, 1)
	}
}

// At the end of standard input or a signal, the running work is ended, and its end is reported.
func TestStops(t *testing.T) {
	for name, stop := range map[string]func(*client){
		"input":  func(c *client) { _ = c.In.Close() },
		"signal": func(c *client) { c.stops <- stdio.Stop{Reason: event.Shutdown, By: "signal:SIGTERM"} },
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, script.New(script.Turn(script.Text("I was about"), script.Stall())))
			thread := c.thread()
			c.turn(thread, "go")
			c.Seen(`"delta":"I was about"`, 1)
			ask := c.Send("turn/interrupt", map[string]any{"threadId": "another", "turnId": "x"})
			if err := ask.Wait(t.Context(), nil); err == nil {
				t.Error("a thread that is not there was interrupted")
			}
			stop(c)
			if err := c.Ended(); err != nil {
				t.Error(err)
			}
			c.diff(
				"at the end", []string{"item/completed", "turn/completed", "thread/closed"},
				c.methods("item/completed", "turn/completed", "thread/closed")[1:],
			)
		})
	}
}

// FuzzRequests: whatever is sent, each request is answered once, and nothing
// falls over.
func FuzzRequests(f *testing.F) {
	for name := range (&Server{}).methods() {
		f.Add(
			name,
			`{"threadId":"THREAD","input":[{"type":"image","url":"data:image/png;base64,AA=="}],"cwd":["/x"],"config":{"sandbox_workspace_write":{"writable_roots":[3,"/x"]},"sandbox_mode":"workspace-write"}}`,
		)
		f.Add(
			name,
			`{"threadId":{},"sandboxPolicy":{"type":"workspaceWrite","writableRoots":["["]},"approvalPolicy":{"granular":1},"turnId":null,"expectedTurnId":""}`,
		)
	}
	f.Fuzz(func(t *testing.T, name, params string) {
		if !json.Valid([]byte(params)) || (&Server{}).methods()[name] == nil {
			return
		}
		c := start(t, script.New().Otherwise(script.Text("ok")))
		thread := c.thread(map[string]any{"ephemeral": true})
		ctx, cancel := context.WithTimeout(t.Context(), clienttest.Patience)
		defer cancel()
		err := c.Conn.Call(ctx, name, json.RawMessage(strings.ReplaceAll(params, "THREAD", thread)), nil)
		if ctx.Err() != nil {
			t.Errorf("%s %s was not answered: %v", name, params, err)
		}
	})
}
