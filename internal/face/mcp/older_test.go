package mcp_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// reply decodes the answer to a request of the older interface.
func reply[T any](b *bench, id any) T {
	b.t.Helper()
	m := b.answer(id)
	if m.Error != nil {
		b.t.Fatalf("request %v failed: %+v", id, *m.Error)
	}
	var out T
	if err := json.Unmarshal(m.Result, &out); err != nil {
		b.t.Fatal(err)
	}
	return out
}

type opened struct{ ConversationID, Model, RolloutPath string }

type aborted struct{ AbortReason, Outcome string }

// converse begins a conversation that is listened to.
func converse(b *bench, params map[string]any) string {
	b.t.Helper()
	b.request("new", "newConversation", params)
	id := reply[opened](b, "new").ConversationID
	b.request("listen", "addConversationListener", map[string]any{"conversationId": id})
	if s := reply[struct{ SubscriptionID string }](b, "listen"); s.SubscriptionID == "" {
		b.t.Error("the subscription has no id")
	}
	return id
}

func say(b *bench, id any, conversation, text string) {
	b.t.Helper()
	b.request(id, "sendUserMessage", map[string]any{"conversationId": conversation, "items": []any{map[string]any{"type": "text", "data": map[string]any{"text": text}}}})
	reply[struct{}](b, id)
}

// told is what a notification of the older interface says.
type told struct {
	ID             string
	ConversationID string
	Msg            map[string]any
}

// events are the notifications of the older interface so far.
func (b *bench) events() (kinds []string, all []told) {
	for _, m := range b.heard() {
		if kind, ok := strings.CutPrefix(m.Method, "codex/event/"); ok {
			var e told
			if err := json.Unmarshal(m.Params, &e); err != nil || e.Msg["type"] != kind {
				b.t.Errorf("%s: %s (%v)", m.Method, m.Params, err)
			}
			kinds, all = append(kinds, kind), append(all, e)
		}
	}
	return kinds, all
}

func (b *bench) event(kind string) map[string]any {
	b.t.Helper()
	m := b.find(kind, func(m message) bool { return m.Method == "codex/event/"+kind })
	var e told
	if err := json.Unmarshal(m.Params, &e); err != nil {
		b.t.Fatal(err)
	}
	return e.Msg
}

// The flow of openai/codex, codex-rs/mcp-server/tests/suite/codex_message_processor_flow.rs.
func TestConversation(t *testing.T) {
	b := start(t, "allow", script.Turn(script.Reasoning("hm"), script.Call("shell", `{"command":"echo hi"}`)), script.Text("Enjoy your new git repo!"))
	b.initialize()
	id := converse(b, map[string]any{"cwd": b.dir})
	say(b, 1, id, "text")
	if done := b.event("task_complete"); done["last_agent_message"] != "Enjoy your new git repo!" {
		t.Errorf("it ended with %v", done)
	}
	kinds, all := b.events()
	for _, e := range all {
		if e.ConversationID != id || e.ID == "" {
			t.Errorf("%+v", e)
		}
	}
	kinds = slices.DeleteFunc(kinds, func(k string) bool { return strings.HasSuffix(k, "_delta") })
	want := "task_started agent_reasoning token_count exec_command_begin exec_command_end agent_message token_count task_complete"
	if got := strings.Join(kinds, " "); got != want && got != strings.Replace(want, "token_count exec_command_begin", "exec_command_begin token_count", 1) {
		t.Errorf("the events are %s", got)
	}
	if end := b.event("exec_command_end"); end["exit_code"] != 0.0 || end["stdout"] != "hi\n" {
		t.Errorf("the command ended with %v", end)
	}
	if begin := b.event("exec_command_begin"); fmt.Sprint(begin["command"]) != "[bash -lc echo hi]" || begin["cwd"] != b.dir {
		t.Errorf("the command is %v", begin)
	}
	b.request(2, "removeConversationListener", map[string]any{"subscriptionId": reply[struct{ SubscriptionID string }](b, "listen").SubscriptionID})
	reply[struct{}](b, 2)
	b.request(3, "removeConversationListener", map[string]any{"subscriptionId": "none"})
	if m := b.answer(3); m.Error == nil || m.Error.Code != -32600 {
		t.Errorf("%+v", m)
	}
	b.request(4, "getUserAgent", nil)
	reply[struct{ UserAgent string }](b, 4)
}

// Each interrupt is answered after turn_aborted, with the reason; one that
// finds nothing running, at once.
func TestInterruptConversation(t *testing.T) {
	step, begun := waits()
	b := start(t, "allow", step, script.Text("again"))
	b.initialize()
	id := converse(b, map[string]any{})
	about := map[string]any{"conversationId": id}
	b.request("idle", "interruptConversation", about)
	if got := reply[aborted](b, "idle"); got.AbortReason != "interrupted" || got.Outcome != "idle" {
		t.Errorf("the interrupt was answered %+v", got)
	}
	say(b, 1, id, "wait")
	b.begun(begun)
	for n := range 10 {
		b.request(10+n, "interruptConversation", about)
	}
	for n := range 10 {
		if got := reply[aborted](b, 10+n); got.AbortReason != "interrupted" {
			t.Errorf("interrupt %d was answered %+v", n, got)
		}
	}
	if got := reply[aborted](b, 10); got.Outcome != "aborted" {
		t.Errorf("the first interrupt was answered %+v", got)
	}
	if end := b.event("turn_aborted"); end["reason"] != "interrupted" {
		t.Errorf("the turn ended with %v", end)
	}
	say(b, 2, id, "go on")
	if done := b.event("task_complete"); done["last_agent_message"] != "again" {
		t.Errorf("it ended with %v", done)
	}
}

// A message that is sent in the same breath is covered by an interrupt, and
// one that comes after it is not.
func TestConversationOrder(t *testing.T) {
	b := start(t, "allow")
	b.model.Otherwise(script.Turn(script.Text("x"), script.Stall()))
	b.initialize()
	id := converse(b, map[string]any{})
	items := []any{map[string]any{"type": "text", "data": map[string]any{"text": "wait"}}}
	for n := range 30 {
		b.request(fmt.Sprint("m", n), "sendUserMessage", map[string]any{"conversationId": id, "items": items})
		b.request(fmt.Sprint("i", n), "interruptConversation", map[string]any{"conversationId": id})
		if got := reply[aborted](b, fmt.Sprint("i", n)); got.Outcome != "aborted" {
			t.Fatalf("the interrupt was answered %+v", got)
		}
	}
}

// Whoever listens is asked; where nobody does, the policy answers, by name.
func TestConversationApprovals(t *testing.T) {
	shell := script.Turn(script.Call("shell", `{"command":"touch made"}`))
	b := start(t, "", shell, script.Text("one"), shell, script.Text("two"), script.Turn(script.Call("write", `{"path":"f.txt","content":"x\n"}`)), script.Text("three"))
	b.initialize()
	id := converse(b, map[string]any{"approvalPolicy": "untrusted"})
	say(b, 1, id, "go")
	asked := b.find("question", func(m message) bool { return m.Method == "execCommandApproval" })
	var q struct {
		ConversationID string   `json:"conversation_id"`
		CallID         string   `json:"call_id"`
		Command        []string `json:"command"`
		Dir            string   `json:"cwd"`
	}
	if err := json.Unmarshal(asked.Params, &q); err != nil || q.ConversationID != id || q.CallID == "" || q.Command[2] != "touch made" || q.Dir != b.dir {
		t.Errorf("the question is %s (%v)", asked.Params, err)
	}
	b.event("exec_approval_request")
	b.send(map[string]any{"id": asked.ID, "result": map[string]any{"decision": "approved"}})
	b.find("end", func(m message) bool {
		return m.Method == "codex/event/task_complete" && strings.Contains(string(m.Params), "one")
	})
	b.request("quiet", "removeConversationListener", map[string]any{"subscriptionId": reply[struct{ SubscriptionID string }](b, "listen").SubscriptionID})
	reply[struct{}](b, "quiet")
	say(b, 2, id, "again")
	b.until(id, func(st event.State) bool { return len(st.Turns) == 2 && st.Turns[1].Cause != nil })
	st := b.hosts.Get(id).State()
	if a := st.Turns[1].Approvals[0].Ended; a == nil || a.Verdict != event.Denied || a.Policy != "ask" {
		t.Errorf("the approval ended with %+v", a)
	}
	// A listener that comes later hears what nobody heard.
	b.request("again", "addConversationListener", map[string]any{"conversationId": id})
	b.find("end", func(m message) bool {
		return m.Method == "codex/event/task_complete" && strings.Contains(string(m.Params), "two")
	})
	say(b, 3, id, "write")
	patch := b.find("question", func(m message) bool { return m.Method == "applyPatchApproval" })
	if !strings.Contains(string(patch.Params), `"f.txt":{"add":{"content":"x\n"}}`) {
		t.Errorf("the question is %s", patch.Params)
	}
	b.send(map[string]any{"id": patch.ID, "result": map[string]any{"decision": "denied"}})
	b.find("end", func(m message) bool {
		return m.Method == "codex/event/task_complete" && strings.Contains(string(m.Params), "three")
	})
	// C16: a second answer runs nothing.
	b.send(map[string]any{"id": patch.ID, "result": map[string]any{"decision": "approved"}})
	b.request("ping", "ping", nil)
	b.answer("ping")
	if st := b.hosts.Get(id).State(); st.Turns[2].Approvals[0].Ended.Verdict != event.Denied || st.Turns[2].Summary.Calls != 0 {
		t.Errorf("the approval ended with %+v", st.Turns[2].Approvals[0].Ended)
	}
}

// until waits until a session is as meant.
func (b *bench) until(session string, is func(event.State) bool) {
	b.t.Helper()
	s := b.hosts.Get(session)
	for range s.Events(b.t.Context(), 0) {
		if is(s.State()) {
			return
		}
	}
}

func TestConversationFails(t *testing.T) {
	b := start(t, "allow", script.Fail(model.NewError(model.ErrAuth, "no such key")))
	b.initialize()
	id := converse(b, map[string]any{})
	say(b, 1, id, "go")
	if e := b.event("error"); !strings.Contains(fmt.Sprint(e["message"]), "no such key") {
		t.Errorf("the error is %v", e)
	}
	b.event("task_complete")
}

// Settings may change from turn to turn, and a conversation may be resumed by
// its file.
func TestConversationTurnsAndResume(t *testing.T) {
	shell := script.Turn(script.Call("shell", `{"command":"echo hi"}`))
	b := start(t, "", shell, script.Text("one"), script.Text("two"))
	b.initialize()
	b.request("new", "newConversation", map[string]any{"approvalPolicy": "on-request"})
	made := reply[opened](b, "new")
	id := made.ConversationID
	b.request("listen", "addConversationListener", map[string]any{"conversationId": id})
	turn := map[string]any{
		"conversationId": id, "items": []any{map[string]any{"type": "text", "data": map[string]any{"text": "go"}}},
		"cwd": b.dir, "approvalPolicy": "never", "sandboxPolicy": map[string]any{"mode": "danger-full-access"}, "model": "scripted", "effort": "", "summary": "auto",
	}
	b.request(1, "sendUserTurn", turn)
	reply[struct{}](b, 1)
	b.event("task_complete")
	if end := b.event("exec_command_end"); end["exit_code"] != 0.0 {
		t.Errorf("the command ended with %v", end)
	}
	turn["cwd"] = "/elsewhere"
	b.request(2, "sendUserTurn", turn)
	if m := b.answer(2); m.Error == nil {
		t.Errorf("a turn elsewhere was answered %s", m.Result)
	}
	if err := b.hosts.Close(t.Context(), id, event.Shutdown, "test"); err != nil {
		t.Fatal(err)
	}
	b.request(3, "sendUserMessage", map[string]any{"conversationId": id, "items": []any{}})
	if m := b.answer(3); m.Error == nil || m.Error.Code != -32600 || !strings.Contains(m.Error.Message, "conversation not found") {
		t.Errorf("a message to a closed conversation was answered %+v", m)
	}
	b.request(4, "listConversations", map[string]any{})
	list := reply[struct {
		Items []struct{ ConversationID, Path, Preview string }
	}](b, 4)
	if len(list.Items) != 1 || list.Items[0].Path != made.RolloutPath || list.Items[0].Preview != "go" {
		t.Fatalf("the list is %+v", list)
	}
	b.request(5, "resumeConversation", map[string]any{"path": list.Items[0].Path})
	again := reply[struct {
		ConversationID  string
		InitialMessages []map[string]any
	}](b, 5)
	if again.ConversationID != id || len(again.InitialMessages) != 2 {
		t.Errorf("it was resumed as %+v", again)
	}
	b.request(6, "addConversationListener", map[string]any{"conversationId": id})
	say(b, 7, id, "more")
	b.find("end", func(m message) bool {
		return m.Method == "codex/event/task_complete" && strings.Contains(string(m.Params), "two")
	})
}
