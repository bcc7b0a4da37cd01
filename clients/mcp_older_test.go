//go:build clients && linux

package clients

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/settle-agent/settle/settletest"
)

// mcpScript is a script that speaks the older interface: lines of JSON, as
// many wrote them for Codex's MCP server.
type mcpScript struct {
	t       *testing.T
	in      io.WriteCloser
	read    io.Closer
	out     *bufio.Scanner
	process *os.Process
	end     func() error
}

type mcpLine struct {
	ID     any
	Method string
	Params struct {
		ConversationID string
		Msg            map[string]any
	}
	Result map[string]any
	Error  *struct{ Message string }
}

func (s *mcpScript) send(id any, method string, params any) {
	s.t.Helper()
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(s.in, "%s\n", raw); err != nil {
		s.t.Fatal(err)
	}
}

// until reads until a line is meant.
func (s *mcpScript) until(meant func(mcpLine) bool) mcpLine {
	s.t.Helper()
	for s.out.Scan() {
		var l mcpLine
		if err := json.Unmarshal(s.out.Bytes(), &l); err != nil {
			s.t.Fatalf("%q: %v", s.out.Text(), err)
		}
		if meant(l) {
			return l
		}
	}
	s.t.Fatalf("the output ended (%v)", s.out.Err())
	return mcpLine{}
}

func (s *mcpScript) answer(id any) map[string]any {
	s.t.Helper()
	l := s.until(func(l mcpLine) bool { return l.Method == "" && fmt.Sprint(l.ID) == fmt.Sprint(id) })
	if l.Error != nil {
		s.t.Fatalf("%v: %s", id, l.Error.Message)
	}
	return l.Result
}

// A conversation is interrupted, by two at once, in a command that ignores
// TERM: each is answered after turn_aborted. Then the input ends in another
// one: within a second and a half nothing is left.
func TestMCPOlderInterface(t *testing.T) {
	srv := settletest.NewServer(t, settletest.Script(settletest.Reply(mcpStubborn()), settletest.Say("I go on."), settletest.Reply(mcpStubborn())))
	c := client{argv: mcpCommand(t, srv), dir: t.TempDir(), env: home(t)}
	s := mcpOlder(t, c)
	s.send(1, "newConversation", map[string]any{"cwd": c.dir, "approvalPolicy": "never", "sandbox": "danger-full-access"})
	conversation := s.answer(1)["conversationId"]
	about := map[string]any{"conversationId": conversation}
	say := map[string]any{"conversationId": conversation, "items": []any{map[string]any{"type": "text", "data": map[string]any{"text": "go"}}}}
	s.send(2, "addConversationListener", about)
	s.answer(2)
	event := func(kind string) mcpLine {
		t.Helper()
		return s.until(func(l mcpLine) bool { return l.Method == "codex/event/"+kind })
	}
	s.send(3, "interruptConversation", about)
	if got := s.answer(3); got["outcome"] != "idle" {
		t.Errorf("with nothing running: %v", got)
	}
	s.send(4, "sendUserMessage", say)
	event("exec_command_begin")
	mcpAwait(t, filepath.Join(c.dir, "running"))
	begin := time.Now()
	s.send(5, "interruptConversation", about)
	s.send(6, "interruptConversation", about)
	var answers []mcpLine
	aborted := false
	s.until(func(l mcpLine) bool {
		if l.Method == "codex/event/turn_aborted" {
			aborted = l.Params.Msg["reason"] == "interrupted" && l.Params.ConversationID == conversation
		}
		if n, _ := l.ID.(float64); l.Method == "" && n >= 5 {
			answers = append(answers, l)
		}
		return aborted && len(answers) == 2
	})
	for _, l := range answers {
		if l.Result["abortReason"] != "interrupted" || l.Result["outcome"] != "aborted" {
			t.Errorf("an interrupt was answered %v", l.Result)
		}
	}
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("the interrupts took %v", took)
	}
	s.send(7, "sendUserMessage", say)
	if done := event("task_complete"); done.Params.Msg["last_agent_message"] != "I go on." {
		t.Errorf("it ended with %v", done.Params.Msg)
	}
	s.send(8, "sendUserMessage", say)
	event("exec_command_begin")
	begin = time.Now()
	_ = s.in.Close()
	if l := event("turn_aborted"); l.Params.Msg["reason"] != "shutdown" {
		t.Errorf("it ended with %v", l.Params.Msg)
	}
	for s.out.Scan() {
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 3*time.Second { // 1.5 s, on a machine with nothing else to do
		t.Errorf("the end took %v", took)
	}
	if left := marked(t, mcpHome(c)); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
}
