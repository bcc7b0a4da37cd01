package turn_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/run"
)

// instructed returns the instructions in the nth request; -1 is the last.
func instructed(m *script.Model, n int) (out []string) {
	requests := m.Requests()
	if n < 0 {
		n = len(requests) - 1
	}
	for _, i := range requests[n].Input {
		if strings.HasPrefix(i.Text, "[You work") {
			out = append(out, i.Text)
		}
	}
	return out
}

// The model receives the project's instructions for the places of calls before the next
// request, once in a session, also across processes.
func TestInstructions(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		m := script.New(
			script.Turn(script.Call("a", `{"at":"web"}`), script.Call("a", `{"at":"api"}`)),
			script.Turn(script.Call("a", `{"at":"web"}`)),
			script.Text("Done."),
			script.Turn(script.Call("a", `{"at":"web"}`), script.Call("none", `{"at":"denied"}`)),
			script.Turn(script.Call("a", `{"at":"big"}`)),
			script.Turn(script.Call("a", `{"at":"huge"}`)),
			script.Text("Done again."),
		)
		b := newBench(t, m, says("a", "A", time.Second))
		var asked []string
		b.config.Instructions = func(dir string, calls []event.Content) (out []run.Instruction) {
			for _, c := range calls {
				at := strings.TrimSuffix(strings.TrimPrefix(c.Arguments, `{"at":"`), `"}`)
				asked = append(asked, at)
				text := "of " + at
				if at == "big" || at == "huge" {
					text = strings.Repeat("x", 40<<10)
				}
				out = append(out, run.Instruction{Path: dir + "/" + at + "/AGENTS.md", Text: text})
			}
			return out
		}
		if c := b.run(t.Context()); c.Outcome != event.Completed {
			t.Fatal(c)
		}
		want := []string{
			"[You work where the project has instructions of its own. /work/web/AGENTS.md says:]\n\nof web",
			"[You work where the project has instructions of its own. /work/api/AGENTS.md says:]\n\nof api",
		}
		if diff := cmp.Diff(want, instructed(m, -1)); diff != "" {
			t.Error(diff)
		}
		if n := len(instructed(m, 1)); n != 2 {
			t.Errorf("%d are in the second request, want them before it", n)
		}
		// Another turn, as in another process: the log has the instructions that the model
		// received.
		if c := b.run(t.Context()); c.Outcome != event.Completed {
			t.Fatal(c)
		}
		got := instructed(m, -1)
		if len(got) != 4 || !strings.HasSuffix(got[2], "xxx") ||
			got[3] != "[You work where the project has instructions of its own, in /work/huge/AGENTS.md. Read them before you continue.]" {
			t.Errorf("%d: %.200q", len(got), got)
		}
		slices.Sort(asked)
		if diff := cmp.Diff([]string{"api", "big", "huge", "web", "web", "web"}, asked); diff != "" {
			t.Errorf("asked about (a call that did not run is none): %s", diff)
		}
		var notes []string
		for _, x := range b.state().Turns {
			for _, i := range x.Items {
				if i.Type() == event.Note {
					notes = append(notes, i.Content().Instruction)
				}
			}
		}
		if diff := cmp.Diff([]string{"/work/web/AGENTS.md", "/work/api/AGENTS.md", "/work/big/AGENTS.md", "/work/huge/AGENTS.md"}, notes); diff != "" {
			t.Error(diff)
		}
	})
}

// C9: a file system that hangs delays no interrupt.
func TestInstructionsThatHang(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		over := make(chan struct{})
		defer close(over)
		b := newBench(t, script.New(script.Call("a", `{}`)), says("a", "A", time.Second))
		ctx, cancel := context.WithCancelCause(t.Context())
		b.config.Instructions = func(string, []event.Content) []run.Instruction {
			time.AfterFunc(time.Second, func() { cancel(event.Abort(event.Interrupted, "user")) })
			<-over
			return nil
		}
		began := time.Now()
		if c := b.run(ctx); c.Reason != event.Interrupted || time.Since(began) > 3*time.Second {
			t.Errorf("%v after %v", c, time.Since(began))
		}
	})
}
