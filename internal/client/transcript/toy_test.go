package transcript_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// toy is a complete frontend: a typed line is a prompt, "y" or "n" answers a question, and "!"
// interrupts. Rows are printed once and stay; below them, live lines show the running work, and are
// redrawn at each change.
type toy struct {
	session  *settle.Session
	rows     []string
	live     []string
	approval string
	drawn    func(*toy)
}

// run shows the session until ctx ends or the session is closed.
func (f *toy) run(ctx context.Context) error {
	for c, err := range transcript.Follow(ctx, f.session, 0, transcript.Live) {
		if err != nil {
			return err
		}
		f.show(c)
		f.live = f.live[:0]
		if turn := c.State.Running(); turn != nil {
			f.goesOn(c, turn)
		}
		for _, in := range c.State.Waiting {
			f.live = append(f.live, "queued: "+in.Text)
		}
		f.drawn(f)
	}
	return nil
}

// show prints the parts that will not change.
func (f *toy) show(c transcript.Change) {
	switch thing, what := c.Thing, c.What; {
	case thing == transcript.Input && what == transcript.Ended && c.Turn != nil:
		f.row("> %s", c.Input.Text)
	case thing == transcript.Item && what == transcript.Committed && c.Item.Type() != event.ToolCall:
		f.row("%s", c.Item.Content().Text)
	case thing == transcript.Item && what == transcript.Running:
		f.row("$ %s", c.Call().Command)
	case thing == transcript.Item && what == transcript.Ended && c.Item.Started:
		f.row("= %s: %s", c.Item.Status, c.Item.Content().Output)
	case thing == transcript.Approval && what == transcript.Started:
		f.approval = c.Approval.Approval
	case thing == transcript.Attempt && what == transcript.Ended && c.Attempt.End.RetryIn != nil:
		f.row("! %s", c.Attempt.End.Failure.Message)
	case thing == transcript.Turn && what == transcript.Ended:
		f.row("[%s]", c.Turn.Cause)
	}
}

func (f *toy) row(format string, a ...any) { f.rows = append(f.rows, fmt.Sprintf(format, a...)) }

// goesOn draws the open parts.
func (f *toy) goesOn(c transcript.Change, turn *event.Turn) {
	for _, i := range turn.Items {
		if i.Status != event.ItemOpen {
			continue
		}
		f.live = append(
			f.live,
			strings.TrimSpace(
				string(
					i.Type(),
				)+": "+i.Content().Text+transcript.CallOf(i, c.State.Host.Dir).Command+" "+i.Content().Output,
			),
		)
	}
	for _, a := range turn.Approvals {
		if a.Ended == nil {
			f.live = append(f.live, "allow? "+a.Title)
		}
	}
}

// typed takes a line.
func (f *toy) typed(ctx context.Context, line string) (err error) {
	switch line {
	case "!":
		_, err = f.session.Interrupt(ctx, settle.Interruption{By: "user"})
	case "y", "n":
		verdict := map[string]event.Verdict{"y": event.Approved, "n": event.Denied}[line]
		err = f.session.Answer(ctx, settle.Answer{Approval: f.approval, Verdict: verdict, By: "user"})
	default:
		_, err = f.session.Submit(ctx, line)
	}
	return err
}

// A frontend of one screen is enough to talk to an agent: to ask, allow, watch and
// interrupt it.
func TestToyFrontendFollowsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shell := fakeShell{func(ctx context.Context, call tool.Call) (tool.Result, error) {
			call.Progress("1\n")
			<-ctx.Done()
			return tool.Result{}, context.Cause(ctx)
		}}
		m := script.New(script.Turn(script.Text("Wrong"), script.Cut()),
			script.Turn(script.Text("I count."), script.Call("shell", `{"command":"count"}`)))
		host, err := settle.Open(t.Context(), settle.Config{})
		if err != nil {
			t.Fatal(err)
		}
		session, err := host.Session(t.Context(), "", settle.SessionConfig{
			Model: model.Config{
				Provider: m, Name: "m",
			}, WorkDir: "/w", Permission: settle.Ask, Attended: true, Tools: []tool.Tool{shell},
		})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		f := &toy{session: session, drawn: func(f *toy) { seen[strings.Join(f.live, "; ")] = true }}
		done := make(chan error, 1)
		go func() { done <- f.run(context.Background()) }() // ends with the session
		for _, line := range []string{"Count!", "and then?", "y", "!"} {
			if err := f.typed(t.Context(), line); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute) // for the retry
			synctest.Wait()
		}
		if err := errors.Join(host.Close(context.Background()), <-done); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"> Count!", "! the response ended without its terminal event", "I count.", "$ count",
			"= aborted: 1\n", "[interrupted]",
		}
		if diff := cmp.Diff(want, f.rows); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for _, live := range []string{
			"message: Wrong", "tool_call: count; allow? shell; queued: and then?",
			"tool_call: count 1; queued: and then?",
		} {
			if !seen[live] {
				t.Errorf("never drawn: %q, but %v", live, seen)
			}
		}
	})
}
