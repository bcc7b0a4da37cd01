package settle_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// echoShell is a shell that returns its command; "wait" waits.
type echoShell struct{}

func (echoShell) Spec() tool.Spec {
	return tool.Spec{Name: "shell", Description: "runs", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (echoShell) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	var args struct{ Command string }
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return tool.Result{}, err
	}
	if args.Command == "wait" {
		c.Progress("waiting")
		<-ctx.Done()
		return tool.Result{Output: "waited", Aborted: true}, nil
	}
	return tool.Result{Output: "ran " + args.Command}, nil
}

// A person's command runs without approval and without a model request. The model receives it
// with the next prompt. An interrupt ends it like any call.
func TestCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, err := settle.Open(t.Context(), settle.Config{})
		if err != nil {
			t.Fatal(err)
		}
		provider := script.New(script.Turn(script.Text("I see.")))
		s, err := host.Session(t.Context(), "", settle.SessionConfig{
			Model: model.Config{
				Provider:     provider,
				ProviderName: "script",
				Name:         "m",
			}, WorkDir: "/w", Permission: settle.Deny, Tools: []tool.Tool{echoShell{}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if o, err := s.Run(t.Context(), "git status", settle.AsCommand(), settle.WithMode(event.Steer)); err != nil ||
			o.Summary.Calls != 1 ||
			o.Summary.Attempts != 0 {
			t.Errorf("%+v, %v", o, err)
		}
		waiting, err := s.Submit(t.Context(), "wait", settle.AsCommand())
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := s.Interrupt(t.Context(), settle.Interruption{By: "user"}); err != nil {
			t.Error(err)
		}
		if _, err := waiting.Wait(t.Context()); err == nil {
			t.Error("the command that was interrupted completed")
		}
		if _, err := s.Run(t.Context(), "what happened?"); err != nil {
			t.Error(err)
		}
		var log []event.Event
		state := s.State()
		for e, err := range s.Events(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if log = append(log, e); e.Seq == state.Seq {
				break
			}
		}
		if err := (contract.Checker{Unfinished: true}).Check(log); err != nil {
			t.Error(err)
		}
		i := state.Turns[1].Items[0]
		if i.Status != event.ItemAborted || i.Effects != event.EffectsPartial || i.Content().Output != "waited" {
			t.Errorf("the command that was interrupted is %s with effects %s: %+v", i.Status, i.Effects, i.Content())
		}
		var asked []string
		for _, item := range provider.Requests()[0].Input {
			asked = append(asked, item.Text)
		}
		if all := strings.Join(asked, "\n"); !strings.Contains(all, "$ git status\nran git status") ||
			!strings.Contains(all, "$ wait\n") {
			t.Errorf("the model was not shown the commands: %s", all)
		}
		if err := host.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Without a shell tool, a command is refused and nothing is accepted.
func TestCommandWithoutShell(t *testing.T) {
	host, err := settle.Open(t.Context(), settle.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := host.Session(
		t.Context(),
		"",
		settle.SessionConfig{
			Model:   model.Config{Provider: script.New(), ProviderName: "script", Name: "m"},
			WorkDir: "/w",
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(t.Context(), "ls", settle.AsCommand()); !errors.Is(err, session.ErrNoCommands) ||
		len(s.State().Waiting) > 0 {
		t.Errorf("%v; %+v", err, s.State().Waiting)
	}
	if err := host.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
