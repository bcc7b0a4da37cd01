package conversation

import (
	"context"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/internal/frontend/tui"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/modeltest"
)

// A model that is chosen in the terminal keeps the server and the effort that were named for the session:
// in a copy, when the session is opened again, and in a new session.
func TestChosenModelKeepsServerAndEffort(t *testing.T) {
	kept := modeltest.NewServer(t, modeltest.Scenario{Turns: []modeltest.Turn{modeltest.Say("done")}, Loop: true})
	place := clienttest.NewPlace(t)
	hosts := place.Sessions(script.New(), "terminal")
	hosts.Base.Model = model.Config{}
	t.Cleanup(func() {
		if err := hosts.CloseAll(context.Background(), event.Shutdown, "test"); err != nil {
			t.Error(err)
		}
	})
	started, err := hosts.Open(t.Context(), "s", assemble.SessionSpec{Dir: place.Dir, Settings: map[string]string{
		"model": "chat/fake-model", "base_url": kept.OpenAI(), "effort": "high",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := started.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := New(hosts, place.Dir, place.Data, true, false)
	check := func(what, id string, choose bool) tui.Conversation {
		t.Helper()
		c, err := s.Open(t.Context(), id)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if choose {
			if err := c.Choose(t.Context(), "model", "chat/fake2"); err != nil {
				t.Fatal(err)
			}
		}
		turn, err := c.Submit(t.Context(), "go on")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := turn.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		all := kept.Exchanges()
		if last := string(all[len(all)-1].Body); !strings.Contains(last, `"fake2"`) || c.Effort() != "high" {
			t.Errorf("%s: effort %q, and the server received %.60s", what, c.Effort(), last)
		}
		return c
	}
	c := check("chosen", "s", true)
	fork, err := s.Fork(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	check("a copy", fork, false)
	if err := s.Close(t.Context(), c, event.Shutdown, "test"); err != nil {
		t.Fatal(err)
	}
	check("opened again", "s", false)
	check("a new session", "", false)
}
