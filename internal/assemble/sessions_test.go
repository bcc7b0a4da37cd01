package assemble_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// newHosts returns hosts whose sessions are in a directory of the test.
func newHosts(t testing.TB) *assemble.Sessions {
	t.Helper()
	home := t.TempDir()
	env := map[string]string{"HOME": home, "SETTLE_DATA_DIR": filepath.Join(home, "data")}
	getenv := func(name string) string { return env[name] }
	hosts := &assemble.Sessions{
		Base: assemble.Options{
			Getenv: getenv, Environ: os.Environ(),
			HostOptions:       assemble.HostOptions{Frontend: "test"},
			PermissionOptions: assemble.PermissionOptions{Permission: settle.Allow},
			ModelOptions: assemble.ModelOptions{
				Model: model.Config{
					Provider:     script.New().Otherwise(script.Text("done")),
					ProviderName: "script",
					Name:         "m",
				},
			},
		},
		Settings: func(dir string, given map[string]string) (*config.Resolved, error) {
			return config.Load(config.Input{Dir: dir, Flags: given, Getenv: getenv, GOOS: "linux"})
		},
	}
	t.Cleanup(func() {
		if err := hosts.CloseAll(context.Background(), event.Shutdown, "test"); err != nil {
			t.Error(err)
		}
	})
	return hosts
}

func TestHosts(t *testing.T) {
	hosts := newHosts(t)
	spec := assemble.SessionSpec{Dir: t.TempDir(), Settings: map[string]string{"max_steps": "7"}}
	first, err := hosts.Open(t.Context(), "", spec)
	if err != nil {
		t.Fatal(err)
	}
	if got := hosts.Get(first.ID()); got != first || first.Agent.Session.Limits.Steps != 7 ||
		first.Agent.Session.WorkDir != spec.Dir {
		t.Errorf("%v, %+v", got == first, first.Agent.Session)
	}
	if again, err := hosts.Open(t.Context(), first.ID(), spec); again != first || !errors.Is(err, assemble.ErrOpen) {
		t.Errorf("again: %v", err)
	}
	if err := hosts.Close(t.Context(), first.ID(), event.Shutdown, "test"); err != nil || hosts.Get(first.ID()) != nil {
		t.Errorf("after Close: %v", err)
	}
	if err := hosts.Close(t.Context(), first.ID(), event.Shutdown, "test"); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	spec.Settings["max_steps"] = "many"
	var wrong *config.Error
	if _, err := hosts.Open(t.Context(), first.ID(), spec); !errors.As(err, &wrong) {
		t.Errorf("with a wrong setting: %v", err)
	}
	spec.Settings = nil
	if _, err := hosts.Open(t.Context(), first.ID(), spec); err != nil || len(hosts.All()) != 1 {
		t.Errorf("opened anew: %v, %d are open", err, len(hosts.All()))
	}
	if err := hosts.CloseAll(t.Context(), event.Shutdown, "test"); err != nil {
		t.Error(err)
	}
	if _, err := hosts.Open(t.Context(), "late", spec); !errors.Is(err, settle.ErrClosed) {
		t.Errorf("after all were closed: %v", err)
	}
}

// A client that requests unavailable sessions leaves nothing behind.
func TestHostsForgetWhatCannotBeOpened(t *testing.T) {
	hosts := newHosts(t)
	for _, id := range []string{"", "a", "../b"} {
		if _, err := hosts.Open(t.Context(), id,
			assemble.SessionSpec{Dir: t.TempDir(), Settings: map[string]string{"max_steps": "many"}}); err == nil {
			t.Errorf("%q was opened", id)
		}
	}
	if _, err := hosts.Open(t.Context(), "../c", assemble.SessionSpec{Dir: t.TempDir()}); err == nil ||
		len(hosts.All()) != 0 {
		t.Errorf("%v; %d are open", err, len(hosts.All()))
	}
}

// With any number of concurrent opens and closes, a session is open once at a time: its
// log's lock would refuse a second one.
func TestHostsOpenASessionOnce(t *testing.T) {
	hosts := newHosts(t)
	spec := assemble.SessionSpec{Dir: t.TempDir()}
	var wg sync.WaitGroup
	var opened atomic.Int32
	for range 8 {
		wg.Go(func() {
			for range 10 {
				s, err := hosts.Open(t.Context(), "s", spec)
				switch {
				case err == nil:
					opened.Add(1)
				case !errors.Is(err, assemble.ErrOpen):
					t.Error(err)
					return
				}
				if err := hosts.Close(t.Context(), s.ID(), event.Shutdown, "test"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if opened.Load() == 0 || hosts.Get("s") != nil {
		t.Errorf("it was opened %d times", opened.Load())
	}
}

// C15: the key of a provider that is chosen later, such as the output of a key_command, is
// also masked.
func TestSetModel(t *testing.T) {
	const key = "sk-that-nobody-may-see-0123456789"
	hosts := newHosts(t)
	s, err := hosts.Open(t.Context(), "", assemble.SessionSpec{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	other := &assemble.Agent{Session: settle.SessionConfig{
		Model: model.Config{
			Provider: script.New(script.Text("it is " + key)), ProviderName: "p", Name: "other",
			Secrets: []string{key},
		},
	}}
	if err := s.SetModel(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	turn, err := s.Submit(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := s.State().Turns[0]
	if last.Start.Model != "other" || !strings.HasPrefix(last.Answer(), "it is ") ||
		strings.Contains(last.Answer(), key) {
		t.Errorf("%s said %q", last.Start.Model, last.Answer())
	}
	if said := s.Agent.Redact.Diagnostic("refused: " + key); strings.Contains(said, key) {
		t.Errorf("diagnostics have it: %s", said)
	}
}

// An approval for the session stays when the client changes the mode.
func TestPolicyChanges(t *testing.T) {
	p := assemble.NewPolicy(assemble.Mode{Name: "ask", Permission: settle.Ask})
	hosts := newHosts(t)
	s, err := hosts.Open(t.Context(), "",
		assemble.SessionSpec{Dir: t.TempDir(), Options: func(o *assemble.Options) { o.Policy = p }})
	if err != nil {
		t.Fatal(err)
	}
	judge, err := s.Agent.Session.Judge()
	if err != nil {
		t.Fatal(err)
	}
	call := settle.Approval{Arguments: `{"command":"touch x"}`}
	call.Tool.Name = "shell"
	decide := func(want settle.Permission) {
		t.Helper()
		if got := judge.Judge(call); got.Decision != want {
			t.Errorf("in mode %q: %s, want %s", p.Mode().Name, got.Decision, want)
		}
	}
	decide("ask")
	p.Set(assemble.Mode{Name: "all", Permission: settle.Allow})
	decide("allow")
	p.Set(assemble.Mode{Name: "plan", Permission: settle.Deny})
	decide("deny")
	p.Set(assemble.Mode{Name: "ask", Permission: settle.Ask})
	judge.Remember(call)
	decide("allow")
	p.Set(assemble.Mode{Name: "other", Permission: settle.Ask})
	decide("allow")
}

// A change of the model repeats no permission check: in the user's home directory, a person
// who allows everything can still choose a model, and the policy keeps its approvals.
func TestChooseLeavesThePolicyAlone(t *testing.T) {
	p := assemble.NewPolicy(assemble.Modes()[0])
	hosts := newHosts(t)
	home := hosts.Base.Getenv("HOME")
	opened, err := hosts.Open(t.Context(), "",
		assemble.SessionSpec{Dir: home, Options: func(o *assemble.Options) { o.Policy = p }})
	if err != nil {
		t.Fatal(err)
	}
	judge, err := opened.Agent.Session.Judge()
	if err != nil {
		t.Fatal(err)
	}
	call := settle.Approval{Arguments: `{"command":"touch x"}`}
	call.Tool.Name = "shell"
	judge.Remember(call)
	rules := len(p.Rules())
	allow, err := assemble.ModeNamed("allow")
	if err != nil || rules == 0 {
		t.Fatalf("%v; %d rules", err, rules)
	}
	p.Set(allow)
	var wg sync.WaitGroup
	// concurrently, and both apply
	for _, chosen := range []map[string]string{{"effort": "high"}, {"max_steps": "7"}} {
		wg.Go(func() {
			if err := opened.Choose(t.Context(), chosen); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := opened.Model().Effort; got != "high" {
		t.Errorf("the effort is %q", got)
	}
	if err := opened.Choose(t.Context(), map[string]string{"effort": ""}); err != nil || opened.Model().Effort != "" {
		t.Errorf("%v; the effort is %q", err, opened.Model().Effort)
	}
	if got := len(p.Rules()); got != rules {
		t.Errorf("of %d rules, the policy knows %d", rules, got)
	}
}

// A model and an effort that were chosen for a session stay when it is opened again, and a new session can
// begin with them.
func TestChoiceOutlivesItsHost(t *testing.T) {
	hosts := newHosts(t)
	hosts.Base.Model = model.Config{}
	spec := func() assemble.SessionSpec { return assemble.SessionSpec{Dir: t.TempDir()} }
	first := spec()
	first.Settings = map[string]string{"model": "chat/first", "base_url": "http://127.0.0.1:1/v1"}
	opened, err := hosts.Open(t.Context(), "s", first)
	if err != nil {
		t.Fatal(err)
	}
	for _, chosen := range []map[string]string{{"model": "chat/other"}, {"effort": "high"}} {
		if err := opened.Choose(t.Context(), chosen); err != nil {
			t.Fatal(err)
		}
	}
	if err := hosts.Close(t.Context(), "s", event.Shutdown, "test"); err != nil {
		t.Fatal(err)
	}
	like := spec()
	like.Like = "s"
	for id, spec := range map[string]assemble.SessionSpec{"s": spec(), "": like} {
		opened, err := hosts.Open(t.Context(), id, spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := opened.Model(); got.FullName() != "chat/other" || got.Effort != "high" {
			t.Errorf("session %q was opened with %s, %q", id, got.FullName(), got.Effort)
		}
	}
}

// An error about a chosen model or effort names no flag: the person used none.
func TestChoiceErrorsNameNoFlag(t *testing.T) {
	opened, err := newHosts(t).Open(t.Context(), "", assemble.SessionSpec{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for setting, want := range map[string]string{
		"effort": `cannot change the effort: "nope" is not`, "max_steps": "cannot change the max_steps: must be",
	} {
		err := opened.Choose(t.Context(), map[string]string{setting: "nope"})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestTightenPolicy(t *testing.T) {
	for _, c := range []struct {
		now, wish string
		may       bool
	}{
		{"allow", "accept-edits", true},
		{"allow", "ask", true},
		{"allow", "allow", true},
		{"accept-edits", "ask", true},
		{"accept-edits", "accept-edits", true},
		{"ask", "read-only", true},
		{"accept-edits", "read-only", true},
		{"ask", "accept-edits", false},
		{"ask", "allow", false},
		{"accept-edits", "allow", false},
		{"read-only", "ask", false},
		{"read-only", "accept-edits", false},
		{"plan", "read-only", false},
		{"ask", "plan", true},
	} {
		now, err := assemble.ModeNamed(c.now)
		if err != nil {
			t.Fatal(err)
		}
		wish, err := assemble.ModeNamed(c.wish)
		if err != nil {
			t.Fatal(err)
		}
		p := assemble.NewPolicy(now)
		var looser *assemble.LooserError
		if err := p.Tighten(wish); (err == nil) != c.may || err != nil && !errors.As(err, &looser) {
			t.Errorf("from %s to %s: %v", c.now, c.wish, err)
		}
		if want := map[bool]string{true: c.wish, false: c.now}[c.may]; p.Mode().Name != want {
			t.Errorf("from %s to %s: it is %s", c.now, c.wish, p.Mode().Name)
		}
	}
}
