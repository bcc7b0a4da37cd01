package assemble_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/modeltest"
)

// providers are the servers of the tests of addresses: kept is named for a session, own is the configured
// server of the provider chat, and maker is the server of the provider anthropic, which needs a key.
type providers struct {
	kept, own, maker *modeltest.Server
	home             string
}

const makersKey = "sk-ant-of-the-maker-alone"

func newProviders(t *testing.T) *providers {
	t.Helper()
	p := &providers{home: t.TempDir()}
	for _, s := range []**modeltest.Server{&p.kept, &p.own, &p.maker} {
		*s = modeltest.NewServer(t, modeltest.Scenario{Turns: []modeltest.Turn{modeltest.Say("done")}, Loop: true})
	}
	file := filepath.Join(p.home, ".config", "settle", "config.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(
		"model = \"chat/configured\"\neffort = \"low\"\n[providers.chat]\nbase_url = %q\n", p.own.OpenAI(),
	)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// hosts returns a program's sessions, with its flags.
func (p *providers) hosts(t *testing.T, flags map[string]string) *assemble.Sessions {
	t.Helper()
	getenv := func(name string) string {
		return map[string]string{
			"HOME": p.home, "SETTLE_DATA_DIR": filepath.Join(p.home, "data"),
			"ANTHROPIC_API_KEY": makersKey, "ANTHROPIC_BASE_URL": p.maker.Anthropic(),
		}[name]
	}
	h := &assemble.Sessions{
		Base: assemble.Options{
			Getenv: getenv, Environ: os.Environ(),
			HostOptions:       assemble.HostOptions{Frontend: "test"},
			PermissionOptions: assemble.PermissionOptions{Permission: settle.Allow},
		},
		Settings: func(dir string, given map[string]string) (*config.Resolved, error) {
			return config.LoadOver(flags, given, func(all map[string]string) (*config.Resolved, error) {
				return config.Load(config.Input{Dir: dir, Flags: all, Getenv: getenv, GOOS: "linux"})
			})
		},
	}
	t.Cleanup(func() {
		if err := h.CloseAll(context.Background(), event.Shutdown, "test"); err != nil {
			t.Error(err)
		}
	})
	return h
}

// turn runs a turn and returns the name of the server that received its request.
func (p *providers) turn(t *testing.T, o *assemble.Opened) string {
	t.Helper()
	before := map[*modeltest.Server]int{}
	for _, s := range []*modeltest.Server{p.kept, p.own, p.maker} {
		before[s] = len(s.Exchanges())
	}
	turn, err := o.Submit(t.Context(), "go on")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, x := range append(p.kept.Exchanges(), p.own.Exchanges()...) {
		if text := fmt.Sprint(x.Header); strings.Contains(text, makersKey) {
			t.Errorf("a server of the provider chat received the key of anthropic at %s", x.Path)
		}
	}
	for name, s := range map[string]*modeltest.Server{"kept": p.kept, "own": p.own, "maker": p.maker} {
		if len(s.Exchanges()) > before[s] {
			return name
		}
	}
	return "none"
}

func (p *providers) open(t *testing.T, h *assemble.Sessions, id string, spec assemble.SessionSpec) *assemble.Opened {
	t.Helper()
	spec.Dir = p.home
	o, err := h.Open(t.Context(), id, spec)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// The address that was named for a session receives no request, and no key, of another provider: not
// after a choice, not when the session is opened again, and not in a new session like it. A model of
// the address's own provider is asked there again.
func TestAddressStaysWithItsProvider(t *testing.T) {
	for _, where := range []string{"session", "flags"} {
		p := newProviders(t)
		named := map[string]string{"model": "chat/fake-model", "base_url": p.kept.OpenAI()}
		flags, settings := named, map[string]string(nil)
		if where == "session" {
			flags, settings = nil, named
		}
		h := p.hosts(t, flags)
		check := func(what string, o *assemble.Opened, want string) {
			t.Helper()
			if got := p.turn(t, o); got != want {
				t.Errorf("%s, %s: the server %q received the request, want %q", where, what, got, want)
			}
		}
		o := p.open(t, h, "s", assemble.SessionSpec{Settings: settings})
		check("as named", o, "kept")
		choose := func(o *assemble.Opened, name string) {
			t.Helper()
			if err := o.Choose(t.Context(), map[string]string{"model": name}); err != nil {
				t.Fatal(err)
			}
		}
		choose(o, "anthropic/claude-sonnet-4-5")
		check("another provider", o, "maker")
		other := map[string]string{"model": "anthropic/claude-sonnet-4-5"}
		check("a new session", p.open(t, h, "", assemble.SessionSpec{Settings: other, Like: "s"}), "maker")
		if err := h.Close(t.Context(), "s", event.Shutdown, "test"); err != nil {
			t.Fatal(err)
		}
		check("named when opened again", p.open(t, h, "s", assemble.SessionSpec{Settings: other}), "maker")
		if err := h.Close(t.Context(), "s", event.Shutdown, "test"); err != nil {
			t.Fatal(err)
		}
		o = p.open(t, p.hosts(t, nil), "s", assemble.SessionSpec{})
		check("opened by another program", o, "maker")
		choose(o, "chat/fake-model")
		check("the first provider again", o, "kept")
	}
}

// An address of a flag belongs to the provider of the model that the program was started with, also for
// sessions that keep a model of another provider.
func TestAddressOfFlagStaysWithItsProvider(t *testing.T) {
	p := newProviders(t)
	flags := map[string]string{"base_url": p.kept.OpenAI()} // the configuration names the model
	h := p.hosts(t, flags)
	o := p.open(t, h, "s", assemble.SessionSpec{})
	if got := p.turn(t, o); got != "kept" {
		t.Errorf("the server %q received the request", got)
	}
	if err := o.Choose(t.Context(), map[string]string{"model": "anthropic/claude-sonnet-4-5"}); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(t.Context(), "s", event.Shutdown, "test"); err != nil {
		t.Fatal(err)
	}
	if got := p.turn(t, p.open(t, p.hosts(t, flags), "s", assemble.SessionSpec{})); got != "maker" {
		t.Errorf("the server %q received the request of another provider", got)
	}
}

// A frontend that opens a session with the chosen model opens it with the server and the effort of the
// choice, and what is kept for the session stays the same: also for its copies, and for new sessions.
func TestChosenModelKeepsServerAndEffort(t *testing.T) {
	p := newProviders(t)
	h := p.hosts(t, nil)
	named := map[string]string{"model": "chat/fake-model", "base_url": p.kept.OpenAI(), "effort": "high"}
	o := p.open(t, h, "s", assemble.SessionSpec{Settings: named})
	chosen := map[string]string{"model": "chat/fake2"}
	if err := o.Choose(t.Context(), chosen); err != nil {
		t.Fatal(err)
	}
	check := func(what string, o *assemble.Opened) {
		t.Helper()
		if got := p.turn(t, o); got != "kept" || o.Model().FullName() != "chat/fake2" || o.Model().Effort != "high" {
			t.Errorf("%s: the server %q, %s, %q", what, got, o.Model().FullName(), o.Model().Effort)
		}
	}
	check("chosen", o)
	file := config.StartedFile(filepath.Join(p.home, "data"), "s")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(t.Context(), "s", event.Shutdown, "test"); err != nil {
		t.Fatal(err)
	}
	check("opened again", p.open(t, h, "s", assemble.SessionSpec{Settings: chosen}))
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the session keeps %s, want %s", after, before)
	}
	check("a new session", p.open(t, h, "", assemble.SessionSpec{Settings: chosen, Like: "s"}))
}
