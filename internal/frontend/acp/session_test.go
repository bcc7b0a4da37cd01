package acp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/model/script"
)

func TestInitialize(t *testing.T) {
	c := start(t, script.New())
	got := c.Must(
		"initialize",
		object{
			"protocolVersion":    9,
			"clientCapabilities": object{"terminal": true},
			"clientInfo":         object{"name": "x", "version": "1"},
		},
	)
	if got["protocolVersion"] != 1.0 || got["agentInfo"].(map[string]any)["name"] != "settle" {
		t.Errorf("%v", got)
	}
	c.Refused(jsonrpc.CodeInvalidParams, "authenticate", object{"methodId": "x"})
}

func TestNewSessionRefusals(t *testing.T) {
	c := start(t, script.New())
	for _, params := range []any{
		object{"cwd": "relative", "mcpServers": []any{}},
		object{"cwd": filepath.Join(c.Dir, "none")},
		object{"cwd": 7},
		[]any{},
		object{"cwd": c.Dir, "_meta": object{"systemPrompt": 7}},
		object{"cwd": c.Dir, "mcpServers": []any{object{"type": "sse", "name": "x", "url": "http://localhost:1"}}},
		object{"cwd": c.Dir, "mcpServers": []any{object{"command": "x"}}},
	} {
		c.Refused(jsonrpc.CodeInvalidParams, "session/new", params)
	}
	c.Refused(-32002, "session/prompt", object{"sessionId": "none", "prompt": text("go")})
	c.Refused(-32002, "session/load", object{"sessionId": "none", "cwd": c.Dir, "mcpServers": []any{}})
	c.Refused(-32002, "session/close", object{"sessionId": "none"})
}

// Unsupported options of a session are reported three times: in the response, to the person who
// started it, and in the first turn.
func TestUnsupportedOptionsAreReported(t *testing.T) {
	c := start(t, script.New(script.Text("ok")))
	got := c.Must("session/new", object{"cwd": c.Dir, "mcpServers": []any{}, "additionalDirectories": []string{"/tmp"}})
	if said, _ := json.Marshal(got["_meta"]); !strings.Contains(string(said), "are not supported") {
		t.Errorf("the answer says %s", said)
	}
	wait(c, c.prompt(got["sessionId"].(string), "go"))
	if story := strings.Join(c.story(), "\n"); !strings.Contains(story, "are not supported") {
		t.Error(story)
	}
	if len(c.notes) != 1 || !strings.Contains(c.notes[0], "are not supported") {
		t.Errorf("the person was told %q", c.notes)
	}
}

func TestSystemPrompt(t *testing.T) {
	c := start(t, script.New().Otherwise(script.Text("ok")))
	for _, meta := range []any{"You are a parrot.", object{"append": "You are a parrot."}} {
		got := c.Must("session/new", object{"cwd": c.Dir, "mcpServers": []any{}, "_meta": object{"systemPrompt": meta}})
		wait(c, c.prompt(got["sessionId"].(string), "go"))
	}
	requests := c.model.Requests()
	for n, r := range requests {
		if !strings.Contains(r.System, "You are a parrot.") || strings.Contains(r.System, "settle") != (n == 1) {
			t.Errorf("prompt %d: %q", n, r.System)
		}
	}
}

func TestLoadAndResume(t *testing.T) {
	c := start(t, script.New(
		script.Turn(
			script.Reasoning("hm"),
			script.Text("I look."),
			script.Call("write", `{"path":"a.txt","content":"x\n"}`),
			script.Call("list", `{}`),
		),
		script.Text("Done."),
		script.Turn(script.Text("And"), script.Stall()),
		script.Text("later"),
	))
	c.choose("reject")
	session := c.open()
	wait(c, c.prompt(session, "first"))
	ended := c.prompt(session, "second")
	c.seen(`"text":"And"`)
	c.cancel(session)
	wait(c, ended)
	c.Must("session/close", object{"sessionId": session})
	c.Refused(-32002, "session/prompt", object{"sessionId": session, "prompt": text("closed")})

	c.Forget()
	load := object{"sessionId": session, "cwd": c.Dir, "mcpServers": []any{}}
	c.Must("session/load", load)
	replayed := []string{
		`user_message_chunk "first"`, `agent_thought_chunk "hm"`, `agent_message_chunk "I look."`,
		`tool_call i000003 edit failed write at a.txt "` + "```\\nThe user did not allow this call of \\\"write\\\".\\n```\"",
		`tool_call i000004 search completed list "` + "```\\n" + `(no files)`,
		`agent_message_chunk "Done."`, `user_message_chunk "second"`, `agent_message_chunk "And"`,
		`agent_thought_chunk "[settle] The turn was ended: interrupted.\n"`,
	}
	got := c.story()
	if len(got) > 4 && strings.HasPrefix(got[4], "tool_call i000004 search completed list") {
		replayed[4] = got[4] // the content of a directory
	}
	if diff := cmp.Diff(replayed, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c.Must("session/close", object{"sessionId": session})

	c.Forget()
	c.Must("session/resume", load)
	if got := wait(c, c.prompt(session, "third")); got != "end_turn" {
		t.Errorf("ended with %q", got)
	}
	c.tells(`agent_message_chunk "later"`, "end: end_turn")
	c.Refused(
		jsonrpc.CodeInvalidParams, "session/load",
		object{"sessionId": session, "cwd": "relative", "mcpServers": []any{}},
	)
}

// A plan is sent when it is set, and again to a client that loads the session.
func TestPlan(t *testing.T) {
	c := start(
		t,
		script.New(
			script.Call(
				"plan", `{"plan":[{"step":"Look.","status":"completed"},{"step":"Tell.","status":"in_progress"}]}`,
			),
			script.Text("ok"),
		),
	)
	session := c.open()
	wait(c, c.prompt(session, "go"))
	const want = `plan completed "Look." in_progress "Tell."`
	if got := c.story(); !slices.Contains(got, want) {
		t.Errorf("told %q", got)
	}
	c.Must("session/close", object{"sessionId": session})
	c.Forget()
	c.Must("session/load", object{"sessionId": session, "cwd": c.Dir, "mcpServers": []any{}})
	if got := c.story(); !slices.Contains(got, want) {
		t.Errorf("told again: %q", got)
	}
}

// A prompt may be written before the load of its session is answered, and a
// cancel right after that.
func TestLoadThenPromptAtOnce(t *testing.T) {
	c := start(t, script.New(script.Text("one"), script.Text("two")))
	session := c.open()
	wait(c, c.prompt(session, "1"))
	c.Must("session/close", object{"sessionId": session})
	load := object{"sessionId": session, "cwd": c.Dir, "mcpServers": []any{}}
	for _, want := range []string{"end_turn", "cancelled"} {
		sent, err := c.Conn.Send(t.Context(), "session/load", load)
		if err != nil {
			t.Fatal(err)
		}
		ended := c.prompt(session, "2")
		if want == "cancelled" {
			c.cancel(session)
		}
		if err := sent.Wait(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if got := wait(c, ended); got != want {
			t.Errorf("ended with %q, want %q", got, want)
		}
		c.Must("session/close", object{"sessionId": session})
	}
	// Of one that cannot be opened, the prompts are answered, too.
	load["cwd"] = filepath.Join(c.Dir, "none")
	sent, err := c.Conn.Send(t.Context(), "session/load", load)
	if err != nil {
		t.Fatal(err)
	}
	if got := wait(c, c.prompt(session, "3")); !strings.Contains(got, "there is no directory") &&
		!strings.Contains(got, "no open session") {
		t.Errorf("ended with %q", got)
	}
	if err := sent.Wait(t.Context(), nil); err == nil {
		t.Error("it was opened")
	}
}

func TestOtherDirectory(t *testing.T) {
	c := start(t, script.New(script.Text("one")))
	session := c.open()
	wait(c, c.prompt(session, "1"))
	c.Must("session/close", object{"sessionId": session})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(c.Dir, link); err != nil {
		t.Fatal(err)
	}
	if said := c.Refused(jsonrpc.CodeInvalidParams, "session/load", object{"sessionId": session, "cwd": t.TempDir(), "mcpServers": []any{}}); !strings.Contains(
		said, c.Dir,
	) {
		t.Errorf("said %q", said)
	}
	c.Must("session/load", object{"sessionId": session, "cwd": link, "mcpServers": []any{}})
}

func TestList(t *testing.T) {
	c := start(t, script.New().Otherwise(script.Text("ok")))
	c.open() // it has no input
	var want []string
	for n := range 3 {
		session := c.open()
		wait(c, c.prompt(session, fmt.Sprintf("prompt %d", n)))
		want = append([]string{session}, want...)
	}
	ids := func(result map[string]any) (out []string) {
		for _, info := range list(result["sessions"]) {
			if info["cwd"] != c.Dir || info["title"] == "" || info["updatedAt"] == "" {
				t.Errorf("%v", info)
			}
			out = append(out, info["sessionId"].(string))
		}
		return out
	}
	if diff := cmp.Diff(want, ids(c.Must("session/list", object{}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := ids(c.Must("session/list", object{"cwd": t.TempDir()})); len(got) != 0 {
		t.Errorf("elsewhere: %q", got)
	}
	if diff := cmp.Diff(want[1:], ids(c.Must("session/list", object{"cwd": c.Dir, "cursor": want[0]}))); diff != "" {
		t.Errorf("after the first (-want +got):\n%s", diff)
	}
	c.Refused(jsonrpc.CodeInvalidParams, "session/list", object{"cursor": "none"})
}

func TestCloseEndsWhatRuns(t *testing.T) {
	c := start(t, script.New(script.Turn(script.Text("a"), script.Stall())))
	session := c.open()
	first, second := c.prompt(session, "1"), c.prompt(session, "2")
	c.seen(`"text":"a"`)
	c.accepted(session, 2)
	c.Must("session/close", object{"sessionId": session})
	if a, b := wait(c, first), wait(c, second); a != "cancelled" || b != "cancelled" {
		t.Errorf("ended with %q and %q", a, b)
	}
}

// A session may be taken up again before its close is answered.
func TestCloseThenLoadAtOnce(t *testing.T) {
	c := start(t, script.New(script.Turn(script.Text("a"), script.Stall()), script.Text("b")))
	session := c.open()
	first := c.prompt(session, "1")
	c.seen(`"text":"a"`)
	closed, err := c.Conn.Send(t.Context(), "session/close", object{"sessionId": session})
	if err != nil {
		t.Fatal(err)
	}
	c.Must("session/load", object{"sessionId": session, "cwd": c.Dir, "mcpServers": []any{}})
	if err := closed.Wait(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if a, b := wait(c, first), wait(c, c.prompt(session, "2")); a != "cancelled" || b != "end_turn" {
		t.Errorf("ended with %q and %q", a, b)
	}
}

func TestDelete(t *testing.T) {
	c := start(t, script.New().Otherwise(script.Text("ok")))
	first, second := c.open(), c.open()
	for _, session := range []string{first, second} {
		wait(c, c.prompt(session, "go"))
	}
	c.Must("session/close", object{"sessionId": second})
	for _, session := range []string{first, second} { // open and closed
		c.Must("session/delete", object{"sessionId": session})
		c.Refused(-32002, "session/delete", object{"sessionId": session})
		c.Refused(-32002, "session/load", object{"sessionId": session, "cwd": c.Dir, "mcpServers": []any{}})
	}
	if left := list(c.Must("session/list", object{})["sessions"]); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestEndOfInput(t *testing.T) {
	c := start(t, script.New(script.Turn(script.Text("a"), script.Stall())))
	session := c.open()
	first, second := c.prompt(session, "1"), c.prompt(session, "2")
	c.seen(`"text":"a"`)
	c.accepted(session, 2)
	c.End()
	if a, b := wait(c, first), wait(c, second); a != "cancelled" || b != "cancelled" {
		t.Errorf("ended with %q and %q", a, b)
	}
	if last := strings.Join(c.Lines(), "\n"); !strings.Contains(last, `"reason":"shutdown"`) ||
		!strings.Contains(last, `"by":"stdin"`) {
		t.Errorf("it does not say why:\n%s", last)
	}
	// Waiting inputs are kept, and the next client of the session sees them (C19).
	again := startIn(t, script.New(script.Text("done")), c.Place)
	again.Must("session/load", object{"sessionId": session, "cwd": c.Dir, "mcpServers": []any{}})
	if story := strings.Join(again.story(), "\n"); !strings.Contains(story, `user_message_chunk "2"`) {
		t.Error(story)
	}
}

// A restarted client can be faster than the end of its earlier process.
func TestSessionIsStillHeld(t *testing.T) {
	c := start(t, script.New(script.Text("one")))
	session := c.open()
	wait(c, c.prompt(session, "1"))
	again := startIn(t, script.New(script.Text("two")), c.Place)
	sent, err := again.Conn.Send(
		t.Context(),
		"session/load",
		object{"sessionId": session, "cwd": c.Dir, "mcpServers": []any{}},
	)
	if err != nil {
		t.Fatal(err)
	}
	again.Must("initialize", object{"protocolVersion": 1}) // by now it tries
	c.End()
	if err := sent.Wait(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := wait(again, again.prompt(session, "2")); got != "end_turn" {
		t.Errorf("ended with %q", got)
	}
}

func TestStop(t *testing.T) {
	c := start(t, script.New(writes("a.txt")))
	session := c.open()
	c.Answer("session/request_permission", func(json.RawMessage) (any, error) { return nil, nil })
	ended := c.prompt(session, "1")
	c.seen("session/request_permission")
	c.stops <- stdio.Stop{Reason: event.Shutdown, By: "signal:SIGTERM"}
	if got := wait(c, ended); got != "cancelled" {
		t.Errorf("ended with %q", got)
	}
	if err := c.Ended(); err != nil {
		t.Error(err)
	}
	if last := strings.Join(c.Lines(), "\n"); !strings.Contains(last, `"by":"signal:SIGTERM"`) {
		t.Errorf("it does not say why:\n%s", last)
	}
}

// C17: a client that does not read slows no turn down, and then gets everything.
func TestSlowClient(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 64)
	c := start(t, script.New(script.Text(slices.Repeat([]string{big}, 4000)...)))
	session := c.open()
	release := c.Hold()
	ended := c.prompt(session, "go")
	for e, err := range c.hosts.Get(session).Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Terminal() {
			break
		}
	}
	release()
	if got := wait(c, ended); got != "end_turn" {
		t.Errorf("ended with %q", got)
	}
	total := 0
	for _, line := range c.Lines() {
		total += strings.Count(line, big)
	}
	if total != 4000 {
		t.Errorf("%d of 4000 pieces came", total)
	}
}

func TestEditor(t *testing.T) {
	c := start(t, script.New(
		script.Call("read", `{"path":"a.txt"}`),
		script.Call("edit", `{"path":"a.txt","old_string":"typed","new_string":"edited"}`),
		script.Text("done"),
	))
	if err := os.WriteFile(filepath.Join(c.Dir, "a.txt"), []byte("saved\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c.Must(
		"initialize",
		object{
			"protocolVersion":    1,
			"clientCapabilities": object{"fs": object{"readTextFile": true, "writeTextFile": true}},
		},
	)
	c.Answer("fs/read_text_file", func(json.RawMessage) (any, error) { return object{"content": "typed\n"}, nil })
	c.Answer("fs/write_text_file", func(json.RawMessage) (any, error) { return object{}, nil })
	session := c.open()
	c.Must("session/set_mode", object{"sessionId": session, "modeId": "accept-edits"})
	c.Forget()
	wait(c, c.prompt(session, "go"))
	story := c.story()
	if all := strings.Join(story, "\n"); !strings.Contains(all, "fs/read_text_file a.txt") ||
		!strings.Contains(all, "fs/write_text_file a.txt edited\n") {
		t.Error(all)
	}
	if got, _ := os.ReadFile(filepath.Join(c.Dir, "a.txt")); string(got) != "saved\n" {
		t.Errorf("the disk has %q", got)
	}
}
