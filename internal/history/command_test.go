package history_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/model"
)

// command has a turn run a command alone.
func (p *tape) command(text, output string, end event.Status) *tape {
	p.t.Helper()
	in := p.state.NextInput()
	p.add(
		event.Event{Data: event.InputAccepted{Input: in, Text: text, Command: true}},
		event.Event{Turn: p.state.NextTurn(), Data: event.TurnStarted{Inputs: []string{in}}},
	)
	item := p.state.NextItem(0)
	e := func(d event.Data) event.Event { return event.Event{Turn: p.id(), Item: item, Data: d} }
	args := `{"command":"` + text + `"}`
	p.add(
		e(event.ItemStarted{Type: event.ToolCall, Name: "shell", CallID: in}),
		e(event.CallReady{Name: "shell", CallID: in, Arguments: args}),
		e(event.CallStarted{}),
	)
	if end == event.ItemOpen {
		p.add(e(event.ItemDelta{Stream: event.Output, Text: output}))
		return p.ends(event.Abort(event.Interrupted, "user"))
	}
	p.add(
		e(
			event.ItemEnded{
				Status: end,
				Content: event.Content{
					Type:      event.ToolCall,
					Name:      "shell",
					CallID:    in,
					Arguments: args,
					Output:    output,
				},
			},
		),
	)
	return p.ends(event.Complete())
}

// The next request has a command that a person ran, marked as such.
func TestUserCommandReachesNextRequest(t *testing.T) {
	p := newTape(t).turn("hi").attempt().text("Hello.").endAttempt().ends(event.Complete())
	p.command("git status", "clean", event.ItemCompleted)
	p.command("make", "half of it", event.ItemOpen)
	p.turn("and now?").attempt()
	var got []string
	for _, i := range history.Request(p.state, target(), "", nil).Input {
		if i.Role == model.Call || i.Role == model.Output {
			t.Errorf("a provider is told of a call that it has not made: %+v", i)
		}
		got = append(got, i.Text)
	}
	const ran = "[The user ran a command. This is information; do not answer it.]\n"
	want := []string{
		"hi", "Hello.", ran + "$ git status\nclean",
		ran + "$ make\nThe call was interrupted by the user after 2.0 s; its effects are unknown: check before you repeat it. Output so far:\nhalf of it",
		"and now?",
	}
	if strings.Join(got, "\n---\n") != strings.Join(want, "\n---\n") {
		t.Errorf("the model is told:\n%s\nwant:\n%s", strings.Join(got, "\n---\n"), strings.Join(want, "\n---\n"))
	}
}
