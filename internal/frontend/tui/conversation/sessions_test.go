package conversation

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/tui"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// Plan mode stays on in a copy of the session, and when the session is opened again. A copy keeps a
// stricter mode than the configured one, but not a looser one.
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
	set(c, "ask") // no request has it for the model yet
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

// The person at the terminal can choose a looser mode than the configured one: it is in force, and not only shown.
func TestPersonChoosesLooserMode(t *testing.T) {
	place := clienttest.NewPlace(t)
	hosts := place.Sessions(script.New().Otherwise(script.Text("done")), "terminal")
	defer func() { _ = hosts.CloseAll(t.Context(), event.Shutdown, "test") }()
	load := hosts.Settings
	hosts.Settings = func(dir string, given map[string]string) (*config.Resolved, error) {
		r, err := load(dir, given)
		if err == nil {
			r.Permission = event.Ask
		}
		return r, err
	}
	c, err := New(hosts, place.Dir, place.Data, true, false).Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetMode(t.Context(), "allow"); err != nil {
		t.Fatal(err)
	}
	judge, err := c.(*local).Opened.Agent.Session.Judge()
	if err != nil {
		t.Fatal(err)
	}
	write := settle.Approval{Tool: tool.Spec{Name: "write"}, Arguments: `{"path":"a","content":"b"}`}
	if j := judge.Judge(write); j.Decision != event.Allow {
		t.Errorf("in the mode %s, a write: %s, because %s", c.Mode(), j.Decision, j.Why)
	}
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

// A model that was chosen in the terminal stays in a copy of the session, in a new session, and when the
// session is opened again. It is stronger than a flag of the command line.
func TestModelOfCopies(t *testing.T) {
	for _, flag := range []string{"", "chat/flag"} {
		place := clienttest.NewPlace(t)
		hosts := place.Sessions(script.New(), "terminal")
		hosts.Base.Model = model.Config{}
		resolve := hosts.Settings
		hosts.Settings = func(dir string, given map[string]string) (*config.Resolved, error) {
			flags := map[string]string{"base_url": "http://127.0.0.1:1/v1"}
			if flag != "" {
				flags["model"] = flag
			}
			return config.LoadOver(flags, given, func(all map[string]string) (*config.Resolved, error) {
				return resolve(dir, all)
			})
		}
		file := filepath.Join(place.Dir, ".config", "settle", "config.toml")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("model = \"chat/configured\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := New(hosts, place.Dir, place.Data, true, false)
		open := func(s *Sessions, how, id, want string) tui.Conversation {
			t.Helper()
			c, err := s.Open(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if c.Model() != want || c.Effort() != "high" && want == "chat/other" {
				t.Errorf("%s, with the flag %q: %s, %q", how, flag, c.Model(), c.Effort())
			}
			return c
		}
		c := open(s, "new", "", cmp.Or(flag, "chat/configured"))
		for setting, value := range map[string]string{"model": "chat/other", "effort": "high"} {
			if err := c.Choose(t.Context(), setting, value); err != nil {
				t.Fatal(err)
			}
		}
		fork, err := s.Fork(t.Context(), c.ID())
		if err != nil {
			t.Fatal(err)
		}
		open(s, "new after a choice", "", "chat/other")
		open(s, "a copy", fork, "chat/other")
		if err := s.Close(t.Context(), c, event.Shutdown, "test"); err != nil {
			t.Fatal(err)
		}
		c = open(s, "again", c.ID(), "chat/other")
		if err := s.Close(t.Context(), c, event.Shutdown, "test"); err != nil {
			t.Fatal(err)
		}
		open(New(hosts, place.Dir, place.Data, true, false), "in another process", c.ID(), cmp.Or(flag, "chat/other"))
		if err := hosts.CloseAll(t.Context(), event.Shutdown, "test"); err != nil {
			t.Error(err)
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
