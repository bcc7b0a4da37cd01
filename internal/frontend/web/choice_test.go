package web_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/modeltest"
)

func newModelServer(t *testing.T) *modeltest.Server {
	t.Helper()
	return modeltest.NewServer(t, modeltest.Scenario{Turns: []modeltest.Turn{modeltest.Say("done")}, Loop: true})
}

// chooser is a user with a configured server, and with a session "s" that has a server, a model and an
// effort of its own.
func chooser(t *testing.T) (u *user, kept, own *modeltest.Server) {
	t.Helper()
	kept, own = newModelServer(t), newModelServer(t)
	u = &user{home: t.TempDir(), dir: t.TempDir()}
	u.write(t, fmt.Sprintf(
		"model = \"chat/configured\"\neffort = \"low\"\n[providers.chat]\nbase_url = %q\n", own.OpenAI(),
	))
	u.flags = map[string]string{"model": "chat/fake-model", "base_url": kept.OpenAI(), "effort": "high"}
	b := u.serve(t)
	b.turn(b.session("s"))
	b.stop()
	u.flags = nil
	return u, kept, own
}

// turn runs a turn and returns its end.
func (b *harness) turn(session string) event.Event {
	b.Helper()
	seq := uint64(b.input(session, "go on")["seq"].(float64))
	for e := range b.watch(b.Context(), session, seq) {
		if e.Terminal() {
			return e
		}
	}
	b.Fatal("the stream ended before the turn")
	return event.Event{}
}

// started returns what is kept for a session.
func (u *user) started(t *testing.T, session string) string {
	t.Helper()
	text, err := os.ReadFile(config.StartedFile(filepath.Join(u.home, "data"), session))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A model of another provider that is chosen on the page is not requested at the server that is kept for
// the session, which would receive its key.
func TestChosenModelIsNotRequestedAtAnothersServer(t *testing.T) {
	u, kept, _ := chooser(t)
	maker := newModelServer(t)
	u.env = map[string]string{"ANTHROPIC_API_KEY": "sk-ant-of-the-maker", "ANTHROPIC_BASE_URL": maker.Anthropic()}
	b, before := u.serve(t), len(kept.Exchanges())
	choice := object{"model": "anthropic/claude-sonnet-4-5"}
	ask[object](b, "POST", "/api/sessions/s/settings", choice, 200)
	b.turn("/api/sessions/s")
	ask[object](b, "DELETE", "/api/sessions/s", nil, 204)
	b.turn("/api/sessions/s")
	if n, more := len(maker.Exchanges()), len(kept.Exchanges())-before; n != 2 || more != 0 {
		t.Errorf("%d requests for the model's provider, and %d more for the kept server", n, more)
	}
}

// A session keeps its server and its effort after a choice of a model, also when it is closed and opened
// again, and in copies.
func TestChosenModelKeepsServerAndEffort(t *testing.T) {
	u, kept, own := chooser(t)
	b := u.serve(t)
	ask[object](b, "POST", "/api/sessions/s/settings", object{"model": "chat/fake2"}, 200)
	check := func(what, session string) {
		t.Helper()
		b.turn(session)
		all := kept.Exchanges()
		last := string(all[len(all)-1].Body)
		if !strings.Contains(last, `"fake2"`) || !strings.Contains(last, `"high"`) || len(own.Exchanges()) > 0 {
			t.Errorf("%s: the kept server received %.60s, the configured one %d requests", what, last,
				len(own.Exchanges()))
		}
	}
	check("chosen", "/api/sessions/s")
	before := u.started(t, "s")
	ask[object](b, "DELETE", "/api/sessions/s", nil, 204)
	check("opened again", "/api/sessions/s")
	check("a copy", "/api/sessions/"+ask[object](b, "POST", "/api/sessions/s/fork", nil, 201)["id"].(string))
	b.diff("kept", before, u.started(t, "s"))
}

// A server that is started with a model keeps it for an existing session when a turn uses it, and not when
// a client reads the settings.
func TestServersModelIsKeptWithATurn(t *testing.T) {
	u, _, _ := chooser(t)
	before := u.started(t, "s")
	u.flags = map[string]string{"model": "chat/of-the-server"}
	b := u.serve(t)
	b.diff("model", "chat/of-the-server", ask[object](b, "GET", "/api/sessions/s/settings", nil, 200)["model"])
	b.diff("kept after reading", before, u.started(t, "s"))
	b.turn("/api/sessions/s")
	b.diff("kept after a turn", `{"model":"chat/of-the-server"}`, u.started(t, "s"))
	ask[object](b, "POST", "/api/sessions/s/settings", object{"model": "chat/chosen"}, 200)
	b.turn("/api/sessions/s")
	b.diff("kept after a choice", `{"model":"chat/chosen"}`, u.started(t, "s"))
}

// A session whose model cannot be used runs on no other one: the client receives the reason, and can choose.
func TestUnusableModelNeedsAChoice(t *testing.T) {
	u, kept, own := chooser(t)
	file := config.StartedFile(filepath.Join(u.home, "data"), "s")
	if err := os.WriteFile(file, []byte(`{"model":"openai/gpt-5"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	b, before := u.serve(t), len(kept.Exchanges())
	for range 2 {
		got := ask[object](b, "POST", "/api/sessions/s/inputs", object{"text": "go on"}, 409)
		if detail := fmt.Sprint(got["detail"]); !strings.Contains(detail, "openai/gpt-5") ||
			!strings.Contains(detail, "OPENAI_API_KEY") || !strings.Contains(detail, "choose another model") {
			t.Errorf("the client received %q", detail)
		}
		choices := ask[object](b, "GET", "/api/sessions/s/settings", nil, 200)
		if choices["model"] != "openai/gpt-5" || !strings.Contains(fmt.Sprint(choices["unusable"]), "OPENAI_API_KEY") {
			t.Errorf("the choices are %v", choices)
		}
		ask[object](b, "POST", "/api/sessions/s/settings", object{"model": "openai/gpt-5.2"}, 409) // no key either
		ask[object](b, "POST", "/api/sessions/s/settings", object{"effort": "low"}, 409)
	}
	if n := len(kept.Exchanges()) - before + len(own.Exchanges()); n != 0 {
		t.Errorf("%d requests for other models", n)
	}
	ask[object](b, "POST", "/api/sessions/s/settings", object{"model": "chat/two"}, 200)
	b.turn("/api/sessions/s")
	b.diff("kept", `{"model":"chat/two"}`, u.started(t, "s"))
	if n := len(own.Exchanges()); n != 1 {
		t.Errorf("%d requests for the chosen model", n)
	}
}
