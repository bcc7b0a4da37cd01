package tui

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/terminal/markdown"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// holdCall makes a session whose call waited for a person when its host ended.
func holdCall(t *testing.T, dir, id string) (*settle.Host, settle.SessionConfig) {
	t.Helper()
	host, err := settle.Open(t.Context(), settle.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	config := settle.SessionConfig{
		Model: model.Config{
			Provider: script.New(
				script.Turn(script.Call("shell", `{"command":"rm -r docs"}`)), script.Turn(script.Text("Gone.")),
			),
			ProviderName: "script", Name: "m",
		},
		WorkDir: "/w", Permission: settle.Ask, Attended: true, Tools: []tool.Tool{echoShell{}},
	}
	s, err := host.Session(t.Context(), id, config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	if err := s.CloseFor(t.Context(), event.Shutdown, "test"); err != nil {
		t.Fatal(err)
	}
	return host, config
}

// A held call that was approved looks like an ordinary call, and not like a command that a person entered.
func TestApprovedHeldCallLooksLikeCall(t *testing.T) {
	dir, id := t.TempDir(), settle.NewSessionID()
	synctest.Test(t, func(t *testing.T) {
		host, config := holdCall(t, dir, id)
		p, code := startPerson(t, host, Options{Sessions: inMemory{host, config}, Session: id, Resume: resumeWords})
		p.sees("Allow this call?", "1 allow it and run it now")
		p.types("\x1b1")
		p.sees("✓ $ rm -r docs", "(approved by you)", "Gone.")
		p.misses("! rm -r docs")
		p.types("\x04")
		p.left(code, 0)
	})
}

// The whole transcript names who approved a held call.
func TestTranscriptNamesApproverOfHeldCall(t *testing.T) {
	var state event.State
	verdict := &event.HeldVerdict{Call: "h", Turn: "t0", Item: "i0", Verdict: event.Approved}
	for n, e := range []event.Event{
		{Data: event.SessionOpened{Dir: "/w"}},
		{By: "ci", Data: event.InputAccepted{Input: "n", Text: "I approve it", HeldCall: verdict}},
		{Turn: "t", Data: event.TurnStarted{Inputs: []string{"n"}}},
		{Turn: "t", Item: "i", Data: event.ItemStarted{Type: event.ToolCall, Name: "shell", CallID: "n"}},
		{Turn: "t", Item: "i", Data: event.CallReady{Name: "shell", CallID: "n", Arguments: `{"command":"make"}`}},
		{Turn: "t", Item: "i", Data: event.CallStarted{}},
	} {
		e.V, e.Session, e.Seq = event.Version, "s", uint64(n+1)
		var err error
		if state, err = event.Fold(state, e); err != nil {
			t.Fatal(err)
		}
	}
	var rows []string
	for _, part := range transcriptSheet(markdown.NewRenderer(), state) {
		rows = append(rows, texts(part(80))...)
	}
	if got := strings.Join(rows, "\n"); !strings.HasSuffix(got, "● $ make  running  (approved by ci)") {
		t.Error(got)
	}
}

// A held call that has changed is asked about again when it is approved. Esc there leaves it held, and its
// question comes back.
func TestInterruptedHeldCallIsAskedAgain(t *testing.T) {
	dir, id := t.TempDir(), settle.NewSessionID()
	synctest.Test(t, func(t *testing.T) {
		host, config := holdCall(t, dir, id)
		config.WorkDir = "/other"
		p, code := startPerson(t, host, Options{Sessions: inMemory{host, config}, Session: id, Resume: resumeWords})
		p.sees("Allow this call?", "1 allow it and run it now", "3 deny", "› 6 decide later")
		p.types("\x1b1")
		p.sees("Allow this command?")
		p.types("\x1b")
		p.sees("Allow this call?", "decide later")
		p.misses("> I approve")
		p.types("\x04")
		p.left(code, 0)
	})
}
