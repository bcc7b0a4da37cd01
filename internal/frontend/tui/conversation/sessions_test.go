package conversation

import (
	"maps"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
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

// A host of its own, or a process that opens a session after another host, begins with the modes that
// the session had, and with nothing that is looser than a person chose.
func TestModesOfHosts(t *testing.T) {
	allow, ask := assemble.ModeOf(event.Allow), assemble.ModeOf(event.Ask)
	for _, tt := range []struct {
		name       string
		spec       HostSpec
		configured assemble.Mode
		mode, work string
	}{
		{"new", HostSpec{}, allow, "allow", "allow"},
		{"in plan mode", HostSpec{Plan: true}, ask, "plan", "ask"},
		{"open before", HostSpec{Before: Modes{Mode: "read-only"}}, allow, "read-only", "read-only"},
		{"open before, in plan mode", HostSpec{Before: Modes{"plan", "ask"}}, allow, "plan", "ask"},
		{"copy of stricter", HostSpec{Copy: true, Source: Modes{Mode: "ask"}}, allow, "ask", "ask"},
		{"copy of looser", HostSpec{Copy: true, Source: Modes{Mode: "allow"}}, ask, "ask", "ask"},
		{"copy in plan mode", HostSpec{Copy: true, Source: Modes{"plan", "ask"}}, allow, "plan", "ask"},
		{"copy of unknown", HostSpec{Copy: true, Source: Modes{Mode: "other"}}, ask, "plan", "ask"},
		{
			"elsewhere since, plan in the log",
			HostSpec{Copy: true, Plan: true, Source: Modes{Mode: "ask"}},
			allow, "plan", "ask",
		},
	} {
		policy := tt.spec.Policy(tt.configured)
		if got, want := modesOf(policy), (Modes{tt.mode, tt.work}); got != want {
			t.Errorf("%s: the session begins in %+v, want %+v", tt.name, got, want)
		}
	}
}

// A session whose host has ended is opened here in the mode that its client saw.
func TestModeOutlivesHost(t *testing.T) {
	place := clienttest.NewPlace(t)
	hosts := place.Sessions(script.New(), "terminal")
	defer func() { _ = hosts.CloseAll(t.Context(), event.Shutdown, "test") }()
	s := New(hosts, place.Dir, place.Data, true, false)
	c, err := s.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetMode(t.Context(), "read-only"); err != nil {
		t.Fatal(err)
	}
	if got, want := s.spec(c.ID()).Before, (Modes{"read-only", "read-only"}); got != want {
		t.Errorf("a host of its own would begin in %+v, want %+v", got, want)
	}
}

// The list to resume has no session without an input, unless a person has named it.
func TestListLeavesOutSessionsWithoutInput(t *testing.T) {
	place := clienttest.NewPlace(t)
	hosts := place.Sessions(script.New(script.Text("done")), "terminal")
	defer func() { _ = hosts.CloseAll(t.Context(), event.Shutdown, "test") }()
	s := New(hosts, place.Dir, place.Data, true, false)
	var ids []string
	for range 3 {
		c, err := s.Open(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		if ids = append(ids, c.ID()); len(ids) == 1 {
			turn, err := c.Submit(t.Context(), "fix it")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := turn.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Rename(t.Context(), ids[1], "later"); err != nil {
		t.Fatal(err)
	}
	list, err := s.List(t.Context())
	titles := map[string]string{}
	for _, one := range list {
		titles[one.ID] = one.Title
	}
	if want := (map[string]string{ids[0]: "fix it", ids[1]: "later"}); err != nil || !maps.Equal(titles, want) {
		t.Errorf("%v, %v, want %v", titles, err, want)
	}
}
