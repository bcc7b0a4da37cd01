package acp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/model/script"
)

// A close that has begun continues, even if its request is cancelled: else no client could open the
// session any more.
func TestCancelOfClose(t *testing.T) {
	for _, method := range []string{"session/close", "session/delete"} {
		t.Run(method, func(t *testing.T) {
			release := make(chan struct{})
			defer close(release)
			c := start(t, script.New(script.Turn(script.Text("a"), script.Deaf(release)), script.Text("b")))
			session := c.open()
			ended := c.prompt(session, "1")
			c.seen(`"text":"a"`)
			sent, err := c.Conn.Send(t.Context(), method, object{"sessionId": session})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Conn.Notify(t.Context(), "$/cancel_request", object{"requestId": sent.ID}); err != nil {
				t.Fatal(err)
			}
			if err := sent.Wait(t.Context(), nil); err != nil {
				t.Error(err)
			}
			if got := wait(c, ended); got != "cancelled" {
				t.Errorf("ended with %q", got)
			}
			if load := (object{"sessionId": session, "cwd": c.Dir}); method == "session/close" {
				c.Must("session/load", load)
			} else {
				c.Refused(-32002, "session/load", load)
			}
		})
	}
}

// C19: inputs that wait when a session is closed are answered as cancelled, and do not run with a
// later prompt.
func TestCloseTakesBackWhatWaits(t *testing.T) {
	c := start(t, script.New().Otherwise(script.Stall()))
	for range 20 {
		session := c.open()
		ended := []<-chan string{c.prompt(session, "1"), c.prompt(session, "2"), c.prompt(session, "3")}
		c.accepted(session, 3)
		c.Must("session/close", object{"sessionId": session})
		for n, one := range ended {
			if got := wait(c, one); got != "cancelled" {
				t.Errorf("prompt %d ended with %q", n+1, got)
			}
		}
		c.Must("session/load", object{"sessionId": session, "cwd": c.Dir})
		if left := c.hosts.Get(session).State().Waiting; len(left) > 0 {
			t.Errorf("%q still waits", left[0].Text)
		}
	}
}

// A client that cancels and goes is answered as one that cancels, whichever
// comes first.
func TestCancelThenEnd(t *testing.T) {
	for range 10 {
		c := start(t, script.New().Otherwise(script.Stall()))
		session := c.open()
		ended := []<-chan string{c.prompt(session, "1"), c.prompt(session, "2"), c.prompt(session, "3")}
		c.accepted(session, 3)
		c.Must("session/cancel", object{"sessionId": session}) // the response proves its arrival
		c.End()
		for n, one := range ended {
			if got := wait(c, one); got != "cancelled" {
				t.Errorf("prompt %d ended with %q", n+1, got)
			}
		}
	}
}

// A prompt that is cancelled while its session is being closed is answered as
// any other one.
func TestCancelRequestWhileItCloses(t *testing.T) {
	holder := start(t, script.New(script.Text("kept")))
	session := holder.open()
	wait(holder, holder.prompt(session, "0"))
	c := startIn(t, script.New(), holder.Place)
	var sent [3]*jsonrpc.Outgoing
	for n, m := range []struct {
		method string
		params object
	}{
		{"session/load", object{"sessionId": session, "cwd": c.Dir}}, // waits for the holder
		{"session/prompt", object{"sessionId": session, "prompt": text("1")}},
		{"session/close", object{"sessionId": session}},
	} {
		var err error
		if sent[n], err = c.Conn.Send(t.Context(), m.method, m.params); err != nil {
			t.Fatal(err)
		}
	}
	ended := c.outcome(sent[1])
	if err := c.Conn.Notify(t.Context(), "$/cancel_request", object{"requestId": sent[1].ID}); err != nil {
		t.Fatal(err)
	}
	c.Must("initialize", object{"protocolVersion": 1}) // by now all of it has come
	holder.End()
	if got := wait(c, ended); got != "cancelled" {
		t.Errorf("ended with %q", got)
	}
	for _, other := range []*jsonrpc.Outgoing{sent[0], sent[2]} {
		if err := other.Wait(t.Context(), nil); err != nil {
			t.Errorf("%s: %v", other.Method, err)
		}
	}
}

// A session that is not named is none: it is neither opened nor waited for.
func TestSessionsWithoutID(t *testing.T) {
	c := start(t, script.New())
	for _, method := range []string{"session/load", "session/resume"} {
		for _, params := range []object{{"cwd": c.Dir}, {"cwd": c.Dir, "sessionId": ""}, {"cwd": c.Dir, "sessionId": "../x"}} {
			c.Refused(jsonrpc.CodeInvalidParams, method, params)
		}
	}
	c.Refused(-32002, "session/close", object{})
	c.Refused(jsonrpc.CodeInvalidParams, "session/delete", object{})
	if open := c.hosts.All(); len(open) > 0 {
		t.Errorf("%d sessions are open", len(open))
	}
	c.Must("session/new", object{"cwd": c.Dir, "sessionId": "mine"}) // which the protocol does not have
}

// A loading client receives an input that another frontend sent during a turn, even if the model
// did not respond to it.
func TestLoadTellsWhatJoined(t *testing.T) {
	begun, hold := make(chan struct{}), make(chan struct{})
	c := start(
		t,
		script.New(
			script.Turn(script.Do(func() { close(begun) }), script.Wait(hold), script.Call("list", `{}`)),
			script.Stall(),
		),
	)
	session := c.open()
	ended := c.prompt(session, "first")
	wait(c, begun)
	if _, err := c.hosts.Get(session).Submit(t.Context(), "joined", settle.WithMode(event.Steer)); err != nil {
		t.Fatal(err)
	}
	close(hold)
	c.seen("joined")
	c.cancel(session)
	wait(c, ended)
	c.Must("session/close", object{"sessionId": session})
	c.Forget()
	c.Must("session/load", object{"sessionId": session, "cwd": c.Dir})
	story := c.story()
	if len(story) != 4 || story[2] != `user_message_chunk "joined"` || !strings.Contains(story[3], "interrupted") {
		t.Errorf("%q", story)
	}
}

// A client that loads a session again during a turn receives every change exactly once, even if it
// lags behind.
func TestLoadWhileItStreams(t *testing.T) {
	words := strings.Repeat("many words ", 100)
	streamed, hold := make(chan struct{}), make(chan struct{})
	c := start(t, script.New(script.Turn(
		script.Repeat(1500, script.Text(words)),
		script.Do(func() { close(streamed) }),
		script.Wait(hold),
		script.Text("the end"),
	), script.Text("ok")))
	session := c.open()
	release := c.Hold()
	ended := c.prompt(session, "go")
	wait(c, streamed)
	sent, err := c.Conn.Send(t.Context(), "session/load", object{"sessionId": session, "cwd": c.Dir})
	if err != nil {
		t.Fatal(err)
	}
	second := c.prompt(session, "and then")
	c.accepted(session, 2) // by now the load has begun
	release()
	if err := sent.Wait(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	close(hold)
	wait(c, ended)
	wait(c, second)
	all := strings.Join(c.Lines(), "\n")
	_, again, _ := strings.Cut(all, "user_message_chunk")
	if n := strings.Count(again, "many words "); n != 1500*100 {
		t.Errorf("%d times", n)
	}
	if n := strings.Count(again, "the end"); n != 1 {
		t.Errorf("the end came %d times", n)
	}
}

// A client that goes while a file is asked of it ends the turn, and that the
// call: it is no failure of the call's own.
func TestEndWhileItReads(t *testing.T) {
	c := start(t, script.New(script.Call("read", `{"path":"a.txt"}`)))
	c.Must(
		"initialize",
		object{
			"protocolVersion":    1,
			"clientCapabilities": object{"fs": object{"readTextFile": true, "writeTextFile": true}},
		},
	)
	c.Answer(
		"fs/read_text_file",
		func(json.RawMessage) (any, error) { return nil, nil },
	) // it is not answered
	if err := os.WriteFile(filepath.Join(c.Dir, "a.txt"), []byte("saved\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	session := c.open()
	ended := c.prompt(session, "go")
	c.seen("fs/read_text_file")
	c.End()
	if got := wait(c, ended); got != "cancelled" {
		t.Errorf("ended with %q", got)
	}
	if story := strings.Join(c.story(), "\n"); !strings.Contains(story, "The call was ended: settle was shut down.") {
		t.Error(story)
	}
}
