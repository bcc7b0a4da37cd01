package settle_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// Each session works by its own configuration, in parallel with the others.
func TestOneHostManySessions(t *testing.T) {
	where, err := tool.New(
		"where",
		"Says where it is.",
		func(context.Context, struct{}) (string, error) { return "", nil },
		tool.ReadOnly(),
	)
	if err != nil {
		t.Fatal(err)
	}
	host, err := settle.Open(t.Context(), settle.Config{DataDir: t.TempDir(), Secrets: []string{secret}})
	if err != nil {
		t.Fatal(err)
	}
	const sessions = 20
	var wg sync.WaitGroup
	for n := range sessions {
		wg.Go(func() {
			name := fmt.Sprint("m", n)
			m := script.New(script.Call("where", "{}"), script.Text("I am "+name+", not "+secret+"."))
			c := settle.SessionConfig{
				Model:   model.Config{Provider: m, ProviderName: "p" + name, Name: name, Effort: "low"},
				WorkDir: t.TempDir(), System: "You are " + name, Tools: []tool.Tool{where}, Ephemeral: n%2 == 0, Value: n,
			}
			s, err := host.Session(t.Context(), name, c)
			if err != nil {
				t.Error(err)
				return
			}
			o, err := s.Run(t.Context(), "who?")
			if err != nil || o.Answer != "I am "+name+", not ***settle:masked***." {
				t.Errorf("%+v, %v", o, err)
			}
			state := s.State()
			if state.Host.Dir != c.WorkDir || state.Turns[0].Start.Model != name ||
				state.Turns[0].Start.Effort != "low" ||
				m.Requests()[0].System != c.System {
				t.Errorf("%s in %s: %+v", name, state.Host.Dir, state.Turns[0].Start)
			}
			if again, err := host.Session(t.Context(), name, settle.SessionConfig{}); err != nil || again != s ||
				again.Value() != n ||
				host.Get(name) != s {
				t.Errorf("opened again: %v, %v", again == s, err)
			}
		})
	}
	wg.Wait()
	if open := len(host.Sessions()); open != sessions {
		t.Errorf("%d sessions are open", open)
	}
	if err := host.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if host.Get("m1") != nil || len(host.Sessions()) != 0 {
		t.Error("some are open after the end")
	}
}

// If the provider asks one session to wait, all sessions with the same provider wait, and no
// others.
func TestSessionsOfAProviderWaitTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault := model.NewError(model.ErrRateLimit, "slower")
		fault.RetryAfter = time.Minute
		shared := script.New(script.Fail(fault)).Otherwise(script.Text("done"))
		host, err := settle.Open(t.Context(), settle.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = host.Close(context.Background()) }()
		run := func(id string, p model.Provider) time.Duration {
			s, err := host.Session(t.Context(), id, settle.SessionConfig{Model: model.Config{Provider: p, Name: id}})
			if err != nil {
				t.Error(err)
				return 0
			}
			begin := time.Now()
			if _, err := s.Run(t.Context(), "go"); err != nil {
				t.Error(err)
			}
			return time.Since(begin)
		}
		var wg sync.WaitGroup
		wg.Go(func() { run("first", shared) })
		synctest.Wait()
		wg.Go(func() {
			if took := run("second", shared); took < 50*time.Second {
				t.Errorf("the second came after %v", took)
			}
		})
		if took := run("other", script.New(script.Text("done"))); took > time.Second {
			t.Errorf("another provider's waited for %v", took)
		}
		wg.Wait()
	})
}

// The next turn uses the model, in the same conversation.
func TestSetModel(t *testing.T) {
	first, second := script.New(script.Text("one")), script.New(script.Text("two, and "+secret))
	s := newSession(t, newHost(t, "", settle.SessionConfig{Model: model.Config{Provider: first}}), "")
	if o, err := s.Run(t.Context(), "count"); err != nil || o.Answer != "one" {
		t.Errorf("%+v, %v", o, err)
	}
	if err := s.SetModel(t.Context(), model.Config{Provider: second, Name: "n", Secrets: []string{secret}}); err != nil {
		t.Fatal(err)
	}
	if o, err := s.Run(t.Context(), "on"); err != nil || o.Answer != "two, and ***settle:masked***" {
		t.Errorf("%+v, %v", o, err)
	}
	if n := len(second.Requests()[0].Input); n != 3 {
		t.Errorf("it was told %d items", n)
	}
	if err := s.SetModel(t.Context(), model.Config{}); err == nil {
		t.Error("it took no model for one")
	}
	if got := s.State().Turns[1].Start; got.Model != "n" {
		t.Errorf("%+v", got)
	}
}

// The next turn has the new tools, and its first request begins with a prefix change that the
// log explains (C21).
func TestSetTools(t *testing.T) {
	named := func(name string) tool.Tool {
		made, err := tool.New(
			name,
			"Does it.",
			func(context.Context, struct{}) (string, error) { return name + " did", nil },
			tool.ReadOnly(),
		)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	m := script.New(script.Call("old", "{}"), script.Text("one"), script.Call("new", "{}"), script.Text("two"))
	s := newSession(
		t,
		newHost(
			t, "",
			settle.SessionConfig{Model: model.Config{Provider: m}, Tools: []tool.Tool{named("kept"), named("old")}},
		),
		"",
	)
	if o, err := s.Run(t.Context(), "go"); err != nil || o.Answer != "one" {
		t.Errorf("%+v, %v", o, err)
	}
	if err := s.SetTools(t.Context(), nil, named("kept")); err == nil {
		t.Error("it took two tools of one name")
	}
	if err := s.SetTools(t.Context(), []string{"old", "none"}, named("new")); err != nil {
		t.Fatal(err)
	}
	if o, err := s.Run(t.Context(), "on"); err != nil || o.Answer != "two" {
		t.Errorf("%+v, %v", o, err)
	}
	var offered []string
	for _, r := range m.Requests() {
		for _, spec := range r.Tools {
			offered = append(offered, spec.Name)
		}
	}
	if diff := cmp.Diff([]string{"kept", "old", "kept", "old", "kept", "new", "kept", "new"}, offered); diff != "" {
		t.Error(diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var why []string
	for e, err := range s.Events(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.Data.(event.HistoryChanged); ok {
			why = append(why, string(d.Change)+": "+d.Why)
		}
		if _, ok := e.Data.(event.TurnCompleted); ok && e.Turn == s.State().Turns[1].ID {
			break
		}
	}
	if diff := cmp.Diff([]string{"basis: the instructions, the tools or the settings of the model changed"}, why); diff != "" {
		t.Error(diff)
	}
}
