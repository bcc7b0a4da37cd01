package tui

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// A held call that has changed is asked about again when it is approved. Esc there leaves it held, and its
// question comes back.
func TestInterruptedHeldCallIsAskedAgain(t *testing.T) {
	dir, id := t.TempDir(), settle.NewSessionID()
	synctest.Test(t, func(t *testing.T) {
		host, err := settle.Open(t.Context(), settle.Config{DataDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		config := settle.SessionConfig{
			Model: model.Config{
				Provider:     script.New(script.Turn(script.Call("shell", `{"command":"rm -r docs"}`))),
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
