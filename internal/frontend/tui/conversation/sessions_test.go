package conversation

import (
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/internal/frontend/tui"
	"github.com/settle-agent/settle/model/script"
)

// Plan mode stays on in a copy of the session, and when the session is opened again. A copy keeps
// what is stricter than the configured mode, and nothing looser.
func TestModesOfCopies(t *testing.T) {
	place := clienttest.NewPlace(t)
	hosts := place.Sessions(script.New().Otherwise(script.Text("done")), "terminal")
	defer func() { _ = hosts.CloseAll(t.Context(), event.Shutdown, "test") }()
	s := New(hosts, place.Dir, place.Data, true, false)
	open := func(s *Sessions, id, want string) tui.Conversation {
		t.Helper()
		c, err := s.Open(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if c.Mode() != want {
			t.Errorf("session %q was opened in the mode %q, want %q", id, c.Mode(), want)
		}
		return c
	}
	fork := func(s *Sessions, id string) string {
		t.Helper()
		copied, err := s.Fork(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return copied
	}
	set := func(c tui.Conversation, mode string) {
		t.Helper()
		if err := c.SetMode(t.Context(), mode); err != nil {
			t.Fatal(err)
		}
	}
	c := open(s, "", "ask")
	set(c, "plan")
	open(s, fork(s, c.ID()), "plan") // the model does not know it yet
	turn, err := c.Submit(t.Context(), "plan it")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	set(c, "ask")
	for mode, want := range map[string]string{"read-only": "read-only", "accept-edits": "ask", "allow": "ask"} {
		set(c, mode)
		open(s, fork(s, c.ID()), want)
	}
	set(c, "ask") // no request has told the model
	if err := s.Close(t.Context(), c, event.Shutdown, "test"); err != nil {
		t.Fatal(err)
	}
	c = open(s, c.ID(), "ask")
	later := fork(s, c.ID())
	open(s, later, "ask")
	if err := s.Close(t.Context(), c, event.Shutdown, "test"); err != nil {
		t.Fatal(err)
	}
	open(New(hosts, place.Dir, place.Data, true, false), c.ID(), "plan") // another process reads the log
}
