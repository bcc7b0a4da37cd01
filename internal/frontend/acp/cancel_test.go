package acp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// C10: the client writes a cancel right after the prompt, and it is never lost.
func TestCancelRightAfterPrompt(t *testing.T) {
	c := start(t, script.New().Otherwise(script.Turn(script.Text("a"), script.Stall())))
	session := c.open()
	for n := range 200 {
		ended := c.prompt(session, "go")
		c.cancel(session)
		if got := wait(c, ended); got != "cancelled" {
			t.Fatalf("prompt %d ended with %q", n, got)
		}
	}
}

func TestCancelWhileItAnswers(t *testing.T) {
	c := start(t, script.New(script.Turn(script.Text("a"), script.Stall()), script.Text("b")))
	session := c.open()
	ended := c.prompt(session, "go")
	c.seen(`"text":"a"`)
	c.cancel(session)
	c.cancel(session) // two at once
	if got := wait(c, ended); got != "cancelled" {
		t.Errorf("ended with %q", got)
	}
	c.cancel(session) // nothing runs
	if got := wait(c, c.prompt(session, "again")); got != "end_turn" {
		t.Errorf("the next one ended with %q", got)
	}
	c.tells(
		"session_info_update go", `agent_message_chunk "a"`, "end: cancelled", `agent_message_chunk "b"`,
		"end: end_turn",
	)
}

// A turn that ends by itself while it is being cancelled: the protocol wants the
// same answer, and the truth is beside it.
func TestCancelThatComesLate(t *testing.T) {
	for name, step := range map[string]script.Step{
		"fails": script.Fail(&model.Error{Kind: model.ErrInvalid, Status: 400, Message: "no"}), "completes": script.Text("done"),
	} {
		t.Run(name, func(t *testing.T) {
			var c *client
			var session string
			read := make(chan struct{}) // also where the turn does not wait for it
			c = start(t, script.New(script.Turn(script.Do(func() {
				defer close(read)
				c.cancel(session)
				c.Must("initialize", object{"protocolVersion": 1}) // the cancel has been read
			}), step)))
			session = c.open()
			if got := wait(c, c.prompt(session, "go")); got != "cancelled" {
				t.Errorf("ended with %q", got)
			}
			<-read
		})
	}
}

// C19: prompts that wait behind one that is cancelled are answered and do not
// run; the protocol could not show them.
func TestCancelPromptsThatWait(t *testing.T) {
	c := start(t, script.New(script.Turn(script.Text("a"), script.Stall()), script.Text("b")))
	session := c.open()
	ended := []<-chan string{c.prompt(session, "1")}
	c.seen(`"text":"a"`)
	ended = append(ended, c.prompt(session, "2"), c.prompt(session, "3"))
	c.cancel(session)
	for n, one := range ended {
		if got := wait(c, one); got != "cancelled" {
			t.Errorf("prompt %d ended with %q", n+1, got)
		}
	}
	if got := wait(c, c.prompt(session, "4")); got != "end_turn" {
		t.Errorf("ended with %q", got)
	}
	requests := c.model.Requests()
	if said := fmt.Sprintf("%+v", requests[len(requests)-1]); strings.Contains(said, "Text:2") ||
		strings.Contains(said, "Text:3") ||
		!strings.Contains(said, "Text:4") {
		t.Errorf("the model was told %s", said)
	}
}

func TestQueue(t *testing.T) {
	release := make(chan struct{})
	c := start(
		t, script.New(script.Turn(script.Wait(release), script.Text("one")), script.Text("two"), script.Text("three")),
	)
	session := c.open()
	ended := []<-chan string{c.prompt(session, "1"), c.prompt(session, "2"), c.prompt(session, "3")}
	close(release)
	for n, one := range ended {
		if got := wait(c, one); got != "end_turn" {
			t.Errorf("prompt %d ended with %q", n+1, got)
		}
	}
	c.tells(
		"session_info_update 1", `agent_message_chunk "one"`, "end: end_turn",
		`agent_message_chunk "two"`, "end: end_turn", `agent_message_chunk "three"`, "end: end_turn",
	)
}

// A request that is cancelled by its id is one prompt, and no other.
func TestCancelRequest(t *testing.T) {
	release := make(chan struct{})
	c := start(t, script.New(script.Turn(script.Text("a"), script.Wait(release)), script.Text("c")))
	session := c.open()
	first := c.prompt(session, "1")
	c.seen(`"text":"a"`)
	sent, err := c.Conn.Send(t.Context(), "session/prompt", object{"sessionId": session, "prompt": text("2")})
	if err != nil {
		t.Fatal(err)
	}
	second, third := c.outcome(sent), c.prompt(session, "3")
	if err := c.Conn.Notify(t.Context(), "$/cancel_request", object{"requestId": sent.ID}); err != nil {
		t.Fatal(err)
	}
	if got := wait(c, second); got != "cancelled" {
		t.Errorf("the second ended with %q", got)
	}
	close(release)
	if a, b := wait(c, first), wait(c, third); a != "end_turn" || b != "end_turn" {
		t.Errorf("the others ended with %q and %q", a, b)
	}
}

func TestCancelRequestThatIsNone(t *testing.T) {
	c := start(t, script.New().Otherwise(script.Text("ok")))
	for _, params := range []object{{"requestId": 77}, {"requestId": nil}, {}, {"requestId": object{}}} {
		if err := c.Conn.Notify(t.Context(), "$/cancel_request", params); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Conn.Notify(t.Context(), "session/cancel", object{"sessionId": "none"}); err != nil {
		t.Fatal(err)
	}
	if got := wait(c, c.prompt(c.open(), "go")); got != "end_turn" {
		t.Errorf("ended with %q", got)
	}
	c.Refused(-32002, "session/cancel", object{"sessionId": "none"}) // as a request, which some send
	c.Refused(jsonrpc.CodeMethodNotFound, "session/nothing", nil)
}

// held returns a client that cannot open a session, and a function that makes the session free.
func held(t *testing.T, m *script.Model) (c *client, session string, release func()) {
	t.Helper()
	holder := start(t, script.New().Otherwise(script.Text("ok")))
	session = holder.open()
	if got := wait(holder, holder.prompt(session, "first")); got != "end_turn" {
		t.Fatalf("ended with %q", got)
	}
	c = startIn(t, m, holder.Place)
	c.hosts.LockTimeout = clienttest.Patience
	return c, session, holder.End
}

// load sends a session/load; the channel gets "" or the error.
func (c *client) load(session string) (*jsonrpc.Outgoing, <-chan string) {
	c.Helper()
	sent, err := c.Conn.Send(
		c.Context(),
		"session/load",
		object{"sessionId": session, "cwd": c.Dir, "mcpServers": []any{}},
	)
	if err != nil {
		c.Fatal(err)
	}
	return sent, c.outcome(sent)
}

func (c *client) cancelRequest(sent *jsonrpc.Outgoing) {
	c.Helper()
	if err := c.Conn.Notify(c.Context(), "$/cancel_request", object{"requestId": sent.ID}); err != nil {
		c.Fatal(err)
	}
}

// A client that cancels a load gives up its own request only: other clients that want the session
// get it.
func TestCancelOneOfTwoLoads(t *testing.T) {
	c, session, release := held(t, script.New(script.Text("b")))
	sent, first := c.load(session)
	_, second := c.load(session)
	c.cancelRequest(sent)
	if got := wait(c, first); !strings.Contains(got, "cancelled") {
		t.Errorf("the first: %q", got)
	}
	release()
	if got := wait(c, second); got != "" {
		t.Errorf("the second: %q", got)
	}
	if got := wait(c, c.prompt(session, "again")); got != "end_turn" {
		t.Errorf("ended with %q", got)
	}
	c.seen(`"text":"first"`)
}

// A session that nobody wants any more is not opened, and may be wanted again.
func TestCancelTheOnlyLoad(t *testing.T) {
	c, session, release := held(t, script.New(script.Text("b")))
	for range 3 {
		sent, load := c.load(session)
		c.cancelRequest(sent)
		if got := wait(c, load); !strings.Contains(got, "cancelled") {
			t.Errorf("%q", got)
		}
	}
	release()
	if _, load := c.load(session); wait(c, load) != "" {
		t.Error("it cannot be loaded again")
	}
	if got := wait(c, c.prompt(session, "again")); got != "end_turn" {
		t.Errorf("ended with %q", got)
	}
}

// Cancelled prompts are answered also while their session is not open yet, and later prompts keep
// their order.
func TestCancelPromptBehindALoad(t *testing.T) {
	c, session, release := held(t, script.New(script.Text("b")).Otherwise(script.Text("c")))
	_, load := c.load(session)
	first := c.prompt(session, "1")
	sent, err := c.Conn.Send(t.Context(), "session/prompt", object{"sessionId": session, "prompt": text("2")})
	if err != nil {
		t.Fatal(err)
	}
	second, third := c.outcome(sent), c.prompt(session, "3")
	c.cancelRequest(sent)
	if got := wait(c, second); got != "cancelled" {
		t.Errorf("the second ended with %q", got)
	}
	release()
	if got := wait(c, load); got != "" {
		t.Fatalf("the load: %q", got)
	}
	if a, b := wait(c, first), wait(c, third); a != "end_turn" || b != "end_turn" {
		t.Errorf("the others ended with %q and %q", a, b)
	}
	requests := c.model.Requests()
	if said := fmt.Sprintf("%+v", requests); len(requests) != 2 || strings.Contains(said, "Text:2") ||
		strings.Contains(fmt.Sprintf("%+v", requests[0]), "Text:3") {
		t.Errorf("the model was told %s", said)
	}
}
