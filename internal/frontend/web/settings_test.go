package web_test

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/web"
)

// user is a user whose servers have a provider with the models chat/one and chat/two.
type user struct {
	home, dir string
	flags     map[string]string
	env       map[string]string
}

func newUser(t *testing.T) *user {
	t.Helper()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"object":"list","data":[{"id":"two","object":"model"},{"id":"one","object":"model"}]}`))
	}))
	t.Cleanup(provider.Close)
	return &user{
		home: t.TempDir(), dir: t.TempDir(),
		flags: map[string]string{"model": "chat/one", "base_url": provider.URL + "/v1"},
	}
}

// write writes the user's configuration.
func (u *user) write(t *testing.T, text string) {
	t.Helper()
	path := filepath.Join(u.home, ".config", "settle", "config.toml")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// adjustable serves sessions whose settings clients may change, of a user who
// configured a permission, or none.
func adjustable(t *testing.T, permission string, change ...func(*assemble.Options)) *harness {
	t.Helper()
	u := newUser(t)
	if permission != "" {
		u.flags["permission"] = permission
	}
	return u.serve(t, change...)
}

// serve serves sessions whose settings clients may change.
func (u *user) serve(t *testing.T, change ...func(*assemble.Options)) *harness {
	t.Helper()
	getenv := func(name string) string {
		own := map[string]string{"HOME": u.home, "SETTLE_DATA_DIR": filepath.Join(u.home, "data")}
		return cmp.Or(own[name], u.env[name])
	}
	settings := func(dir string, chosen map[string]string) (*config.Resolved, error) {
		return config.LoadOver(u.flags, chosen, func(all map[string]string) (*config.Resolved, error) {
			return config.Load(config.Input{Dir: dir, Flags: all, Getenv: getenv, GOOS: "linux"})
		})
	}
	return serve(t, setup{dir: filepath.Join(u.home, "data"), work: u.dir, web: func(o *web.Options) {
		r, err := settings(u.dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		base := assemble.Options{
			Settings: r, Dir: u.dir, Environ: os.Environ(), Getenv: getenv,
			HostOptions:       assemble.HostOptions{Frontend: "serve"},
			PermissionOptions: assemble.PermissionOptions{Attended: true},
		}
		for _, f := range change {
			f(&base)
		}
		o.Sessions = &assemble.Sessions{Base: base, Settings: settings}
		o.Sessions.Use(o.Host, o.DataDir)
		base.Policy, base.Ceiling = assemble.NewPolicy(assemble.ModeOf(r.Permission)), r.Permission
		if o.Agent, err = assemble.New(t.Context(), base); err != nil {
			t.Fatal(err)
		}
		o.Agent.Session.LockTimeout = 0
		o.Ceiling = r.Permission
	}})
}

func TestSettings(t *testing.T) {
	b := adjustable(t, "")
	session := b.session("first")
	got := ask[object](b, "GET", session+"/settings", nil, 200)
	b.diff("why not", nil, got["problem"])
	b.diff("models", []any{object{"name": "chat/one"}, object{"name": "chat/two"}}, got["models"])
	made := ask[object](b, "GET", "/api/sessions", nil, 200)["new"].(object)
	b.diff("a new session's words", "asks before changes", made["permission_words"])
	b.diff("words", made["permission_words"], got["permission_words"])
	if got["model"] != "chat/one" || got["permission"] != "ask" || len(got["permissions"].([]any)) != 6 ||
		len(got["efforts"].([]any)) != 7 {
		t.Errorf("%v", got)
	}
	const refuses = "read-only, refuses changes"
	in := func(effort string) object {
		return object{"model": "chat/two", "effort": effort, "permission": "read-only", "permission_words": refuses}
	}
	b.diff(
		"changed",
		in("high"),
		ask[object](
			b, "POST", session+"/settings", object{"model": "chat/two", "effort": "high", "permission": "read-only"},
			200,
		),
	)
	b.diff("one left out", in(""),
		ask[object](b, "POST", session+"/settings", object{"effort": ""}, 200))
	for _, wrong := range []object{{"model": "nowhere/three"}, {"effort": "enormous"}, {"permission": "everything"}} {
		if got := ask[object](b, "POST", session+"/settings", wrong, 400); got["detail"] == "" {
			t.Errorf("%v: %v", wrong, got)
		}
	}
	seen := func() object {
		a := ask[object](b, "GET", session, nil, 200)
		return object{"model": a["model"], "permission": a["permission"], "words": a["permission_words"]}
	}
	want := object{"model": "chat/two", "permission": "read-only", "words": refuses}
	b.diff("the session", want, seen())
	// A session that was closed since is opened with the chosen settings.
	ask[object](b, "DELETE", session, nil, 204)
	ask[object](b, "POST", "/api/sessions", object{"id": "first"}, 201)
	b.diff("opened again", want, seen())
	// Another session is as it was.
	other := b.session("second")
	b.diff("another one", object{"model": "chat/one", "permission": "ask"}, func() object {
		a := ask[object](b, "GET", other, nil, 200)
		return object{"model": a["model"], "permission": a["permission"]}
	}())
}

// A copy of a session keeps the chosen model and effort, also a copy of a closed session; before it
// is opened, its snapshot has the settings of its next turn.
func TestCopyKeepsChosenModel(t *testing.T) {
	b := adjustable(t, "")
	session := b.session("first")
	b.input(session, "begin")
	b.until(session, event.Event.Terminal)
	ask[object](b, "POST", session+"/settings", object{"model": "chat/two", "effort": "high"}, 200)
	want := object{"model": "chat/two", "effort": "high", "permission": "ask", "words": "asks before changes"}
	seen := func(path string) object {
		a := ask[object](b, "GET", path, nil, 200)
		return object{
			"model": a["model"], "effort": a["effort"], "permission": a["permission"], "words": a["permission_words"],
		}
	}
	copied := func(what, path string, body object) {
		t.Helper()
		id := ask[object](b, "POST", path, body, 201)["id"].(string)
		b.diff(what+", closed", want, seen("/api/sessions/"+id))
		ask[object](b, "POST", "/api/sessions", object{"id": id}, 201)
		b.diff(what+", open", want, seen("/api/sessions/"+id))
	}
	copied("a fork", session+"/fork", nil)
	copied("a rewind", session+"/rewind", object{"keep_files": true})
	ask[object](b, "DELETE", session, nil, 204)
	b.diff("the closed session", want, seen(session))
	copied("a fork of the closed session", session+"/fork", nil)
}

// A chosen model outlives the server, also in copies, unless the next server is started with a model.
func TestChosenModelOutlivesServer(t *testing.T) {
	u := newUser(t)
	named := u.flags
	u.write(t, "model = \"chat/one\"\n")
	u.flags = map[string]string{"base_url": named["base_url"]}
	b := u.serve(t)
	for _, id := range []string{"first", "second"} {
		b.input(b.session(id), "begin")
		b.until("/api/sessions/"+id, event.Event.Terminal)
		ask[object](b, "POST", "/api/sessions/"+id+"/settings", object{"model": "chat/two"}, 200)
	}
	fork := ask[object](b, "POST", "/api/sessions/first/fork", nil, 201)["id"].(string)
	ask[object](b, "POST", "/api/sessions/second/settings", object{"model": ""}, 200)
	b.stop()
	seen := func(b *harness, id, want string) {
		b.Helper()
		b.diff("closed", want, ask[object](b, "GET", "/api/sessions/"+id, nil, 200)["model"])
		ask[object](b, "POST", "/api/sessions", object{"id": id}, 201)
		b.diff("open", want, ask[object](b, "GET", "/api/sessions/"+id, nil, 200)["model"])
	}
	next := u.serve(t)
	seen(next, "first", "chat/two")
	seen(next, fork, "chat/two")
	seen(next, "second", "chat/one")
	next.stop()
	u.flags = named
	seen(u.serve(t), "first", "chat/one")
}

// The settings of the next session and their values can be read without a session.
func TestSettingsOfNextSession(t *testing.T) {
	b := adjustable(t, "ask")
	got := ask[object](b, "GET", "/api/settings", nil, 200)
	b.diff("models", []any{object{"name": "chat/one"}, object{"name": "chat/two"}}, got["models"])
	if got["model"] != "chat/one" || got["permission"] != "ask" || got["permission_words"] == "" ||
		len(got["permissions"].([]any)) != 3 {
		t.Errorf("%v", got)
	}
	if list := ask[object](b, "GET", "/api/sessions", nil, 200)["sessions"].([]any); len(list) != 0 {
		t.Errorf("it made %v", list)
	}
	ask[object](serve(t, setup{}), "GET", "/api/settings", nil, 409) // its sessions have fixed settings
}

// Plugins are listed, read-only.
func TestPlugins(t *testing.T) {
	b := serve(t, setup{web: func(o *web.Options) {
		o.Plugins = func() []web.Plugin {
			return []web.Plugin{{Name: "demo", Version: "1.2", State: "ok", From: "/demo", Has: "1 hook, 1 skill"}}
		}
	}})
	want := object{
		"plugins": []any{object{
			"name": "demo", "version": "1.2", "state": "ok", "from": "/demo", "has": "1 hook, 1 skill",
		}},
	}
	b.diff("plugins", want, ask[object](b, "GET", "/api/plugins", nil, 200))
	b.diff("none", object{"plugins": []any{}}, ask[object](serve(t, setup{}), "GET", "/api/plugins", nil, 200))
}

// A client can only tighten the user's configuration.
func TestSettingsAreNoLooserThanConfigured(t *testing.T) {
	b := adjustable(t, "ask")
	session := b.session("first")
	got := ask[object](b, "GET", session+"/settings", nil, 200)
	names := []string{}
	for _, p := range got["permissions"].([]any) {
		names = append(names, p.(object)["name"].(string))
	}
	b.diff("permissions", []string{"ask", "read-only", "plan"}, names)
	for _, looser := range []string{"allow", "accept-edits"} {
		ask[object](b, "POST", session+"/settings", object{"permission": looser, "model": "chat/two"}, 403)
	}
	now := ask[object](b, "POST", session+"/settings", object{}, 200)
	b.diff(
		"unchanged",
		[]any{got["model"], got["effort"], got["permission"]},
		[]any{now["model"], now["effort"], now["permission"]},
	)
	ask[object](b, "POST", session+"/settings", object{"permission": "read-only"}, 200)
	ask[object](b, "POST", session+"/settings", object{"permission": "ask"}, 200)
	judge := b.web.Agent.Session.Permission
	if judge != settle.Ask {
		t.Errorf("the agent of all sessions has the permission %q", judge)
	}
}

// The response to a change of fixed settings states that they are fixed.
func TestFixedSettings(t *testing.T) {
	b := serve(t, setup{})
	session := b.session("first")
	ask[object](b, "GET", session+"/settings", nil, 409)
	ask[object](b, "POST", session+"/settings", object{"effort": "low"}, 409)
	ask[object](b, "GET", "/api/sessions/none/settings", nil, 404)
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"main.go", "docs/manual.md", "docs/näher & more.md"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := serve(t, setup{work: dir})
	for match, want := range map[string][]any{
		"":                {"docs/", "main.go", "docs/manual.md", "docs/näher & more.md"},
		"?match=man":      {"docs/manual.md", "main.go"},
		"?match=r%20%26":  {"docs/näher & more.md"},
		"?match=nowhere!": {},
	} {
		b.diff(match, want, ask[object](b, "GET", "/api/files"+match, nil, 200)["paths"])
	}
}
