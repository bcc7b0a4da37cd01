package assemble

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/prompt"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/modeltest"
	"github.com/settle-agent/settle/modeltest/leak"
	"github.com/settle-agent/settle/tool"
)

func TestMain(m *testing.M) {
	proc.RunAsSupervisor()
	os.Exit(leak.Run(m))
}

// resolve loads a configuration from flags, an environment, and the user's file.
func resolve(t *testing.T, dir string, flags, env map[string]string, file string) *config.Resolved {
	t.Helper()
	home := t.TempDir()
	if file != "" {
		path := filepath.Join(home, ".config", "settle", "config.toml")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := config.Load(config.Input{Dir: dir, Flags: flags, GOOS: "linux", Getenv: func(name string) string {
		if name == "HOME" {
			return home
		}
		return env[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func make1(t *testing.T, r *config.Resolved, change func(*Options)) *Agent {
	t.Helper()
	home := t.TempDir()
	o := Options{
		Settings: r, Dir: t.TempDir(), Environ: os.Environ(), Getenv: elsewhere(home),
		PermissionOptions: PermissionOptions{Permission: settle.Allow, Release: "allow"},
	}
	if change != nil {
		change(&o)
	}
	a, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// elsewhere is this process's environment with another home directory, so that the user's
// own skills have no effect.
func elsewhere(home string) func(string) string {
	return func(name string) string {
		switch name {
		case "HOME":
			return home
		case "CLAUDE_CONFIG_DIR", "CODEX_HOME", "USERPROFILE":
			return ""
		}
		return os.Getenv(name)
	}
}

// A session keeps the text for its own model, and receives the texts of other families on demand.
func TestPromptsKeepOneText(t *testing.T) {
	env := map[string]string{"ANTHROPIC_API_KEY": "sk-0123456789abcdefghij"}
	c := make1(t, resolve(t, "/", nil, env, ""), nil).Session
	if c.Model.Prompt != string(prompt.Claude) {
		t.Fatalf("the model's prompt is %q", c.Model.Prompt)
	}
	if own := c.Prompts(c.Model.Prompt); unsafe.StringData(own) != unsafe.StringData(c.System) {
		t.Error("the model's prompt is in memory twice")
	}
	_, rest, _ := strings.Cut(c.System, "# Environment")
	for _, f := range prompt.Families() {
		own, same, _ := strings.Cut(c.Prompts(string(f)), "# Environment")
		if strings.TrimSpace(own) != prompt.Own(f) || same != rest {
			t.Errorf("the prompt of family %q begins with %q", f, own)
		}
	}
}

func TestNew(t *testing.T) {
	env := map[string]string{"OPENAI_API_KEY": "sk-0123456789abcdefghij"}
	a := make1(t, resolve(t, "/", map[string]string{
		"max_steps": "7", "max_repeats": "0", "stall_timeout": "0",
		"retries": "0", "retry_for": "0",
	}, env, ""), nil)
	c := a.Session
	if c.Model.ProviderName != "openai" || c.Model.Name == "" || c.Permission != settle.Allow {
		t.Errorf("model %s/%s, permission %s", c.Model.ProviderName, c.Model.Name, c.Permission)
	}
	if diff := cmp.Diff(settle.Limits{Steps: 7, Repeats: -1}, c.Limits); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	if c.Retry.Retries == nil || *c.Retry.Retries != 0 || c.Retry.RetryFor >= 0 {
		t.Errorf("retry %+v", c.Retry)
	}
	if c.Model.Timeouts.Stall >= 0 || c.Model.Timeouts.Header != 10*time.Minute {
		t.Errorf("timeouts %+v", c.Model.Timeouts)
	}
	if c.Model.Window == 0 || !c.Model.TextAfterCalls {
		t.Errorf("traits %+v", c.Model)
	}
	if got := a.Redact.String("the key is sk-0123456789abcdefghij"); strings.Contains(got, "0123456789") {
		t.Errorf("the key is shown: %s", got)
	}
	if !strings.Contains(c.System, "settle") {
		t.Errorf("system prompt %q", c.System)
	}
}

// The user's data about a model overrides the table, for its provider only.
func TestOwnModels(t *testing.T) {
	file := `
model = "mine/some/model"
[providers.mine]
wire = "chat"
base_url = "https://mine.example/v1"
key_command = ["echo", "key-0123456789-abcdef"]
limits = { max_concurrent = 1 }
[models."mine/some/model"]
window = 1234
images = false
`
	a := make1(t, resolve(t, "/", nil, nil, file), nil)
	want := model.Traits{Window: 1234, NoImages: true, ReasoningField: true, Family: "settle"}
	if diff := cmp.Diff(want, a.Session.Model.Traits); diff != "" {
		t.Errorf("traits (-want +got):\n%s", diff)
	}
	if got := a.Redact.String("key-0123456789-abcdef"); strings.Contains(got, "0123456789") {
		t.Errorf("what key_command printed is shown: %s", got)
	}
	if _, ok := a.Session.Model.Provider.(*limited); !ok {
		t.Errorf("the provider is not limited: %T", a.Session.Model.Provider)
	}
	for _, wrong := range []string{`["false"]`, `["true"]`, `["no-such-program-anywhere"]`} {
		_, err := New(t.Context(), Options{
			Settings: resolve(t, "/", nil, nil, strings.Replace(file, `["echo", "key-0123456789-abcdef"]`, wrong, 1)),
			Dir:      "/", Environ: os.Environ(), Getenv: os.Getenv,
		})
		var keyless *config.KeyError
		if !errors.As(err, &keyless) {
			t.Errorf("key_command %s: %v", wrong, err)
		}
	}
}

// A fallback that is the model itself is not used, and a note says so.
func TestFallbackThatIsTheModel(t *testing.T) {
	for fallback, noted := range map[string]bool{"chat/a": true, "chat/b": false} {
		flags := map[string]string{"model": "chat/a", "base_url": "http://127.0.0.1:1/v1", "fallback_model": fallback}
		a := make1(t, resolve(t, "/", flags, nil, ""), nil)
		has := strings.Contains(strings.Join(a.Notes, "\n"), "chat/a is the model itself")
		if has != noted || (a.Session.Model.Fallback == nil) != noted {
			t.Errorf("%s: the notes are %q, the fallback %v", fallback, a.Notes, a.Session.Model.Fallback)
		}
	}
}

func TestWindowOfALocalServer(t *testing.T) {
	server := modeltest.NewServer(t, modeltest.Script())
	r := resolve(t, "/", map[string]string{"model": "chat/anything", "base_url": server.OpenAI()}, nil, "")
	make1(t, r, nil) // asks, and accepts no answer
	if n := len(server.Exchanges()); n != 0 {
		t.Errorf("a model was asked %d times", n)
	}
}

func TestOffered(t *testing.T) {
	for _, tt := range []struct {
		chosen []string
		want   string
		wrong  bool
	}{
		{nil, strings.TrimSuffix(strings.Join(toolNames(), " "), " web_search"), false},
		{[]string{"edit", "shell"}, "edit shell", false},
		{[]string{}, "", false},
		{[]string{"hammer"}, "", true},
	} {
		got, err := offered(tt.chosen, config.Web{Search: config.SearchOff})
		if strings.Join(got, " ") != tt.want || (err != nil) != tt.wrong {
			t.Errorf("offered(%q) = %q, %v", tt.chosen, got, err)
		}
	}
}

// The offered tools exist, and run with process tracking and without the keys.
func TestToolbox(t *testing.T) {
	r := resolve(t, "/", map[string]string{"model": "chat/m", "base_url": "http://127.0.0.1:1/v1"},
		map[string]string{"SETTLE_API_KEY": "secret-0123456789-abcdef"}, "")
	a := make1(t, r, func(o *Options) {
		o.Environ = []string{"PATH=" + os.Getenv("PATH"), "SETTLE_API_KEY=secret-0123456789-abcdef", "OTHER=kept"}
	})
	kit, err := a.Session.Toolbox(settle.SessionInfo{ID: "s", WorkDir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(kit.Tools...)
	if err != nil {
		t.Fatal(err)
	}
	result, err := set.Run(t.Context(),
		tool.Call{ID: "c", Name: "shell", Dir: t.TempDir(), Args: []byte(`{"command":"env"}`)})
	if err != nil || strings.Contains(result.Output, "secret") || !strings.Contains(result.Output, "OTHER=kept") {
		t.Errorf("%v: %s", err, result.Output)
	}
	if err := kit.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if swept := kit.Sweep(nil); len(swept) > 0 {
		t.Errorf("left behind: %v", swept)
	}
}

func TestCheckDirectory(t *testing.T) {
	home := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(home, link); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		dir   string
		flags map[string]string
		env   map[string]string
		ok    bool
	}{
		{dir: home + "/sub", ok: true},
		{dir: home},
		{dir: link},
		{dir: "/"},
		{dir: "/", flags: map[string]string{"permission": "allow"}, ok: true},
		{dir: "/", flags: map[string]string{"permission": "deny"}, ok: true},
		{dir: "/", env: map[string]string{"container": "podman"}, ok: true},
	} {
		getenv := func(name string) string {
			if name == "HOME" {
				return home
			}
			return tt.env[name]
		}
		if inContainer(func(string) string { return "" }) {
			tt.ok = true // the machine that runs this test is a container
		}
		err := CheckDirectory(tt.dir, resolve(t, "/", tt.flags, nil, ""), getenv)
		if (err == nil) != tt.ok {
			t.Errorf("%s with %v, %v: %v", tt.dir, tt.flags, tt.env, err)
		}
	}
}

func TestPromptFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"AGENTS.md": "use tabs", "own.md": "you are a parrot",
		"more.md": "be brief",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := resolve(t, dir, map[string]string{"model": "chat/m", "base_url": "http://h/v1"}, nil, "")
	system := func(change func(*Options)) string {
		return make1(t, r, func(o *Options) {
			o.Dir = dir
			change(o)
		}).Session.System
	}
	if got := system(func(*Options) {}); !strings.Contains(got, "use tabs") || !strings.Contains(got, dir) {
		t.Errorf("system prompt: %s", got)
	}
	got := system(func(o *Options) {
		o.SystemFile, o.AppendFile = filepath.Join(dir, "own.md"), filepath.Join(dir, "more.md")
	})
	if diff := cmp.Diff(true, strings.HasPrefix(got, "you are a parrot") && strings.HasSuffix(got, "be brief") &&
		strings.Contains(got, "use tabs")); diff != "" {
		t.Errorf("system prompt: %s", got)
	}
	_, err := New(t.Context(), Options{
		Settings: r, Dir: dir, Getenv: os.Getenv,
		PromptOptions: PromptOptions{SystemFile: filepath.Join(dir, "missing.md")},
	})
	if err == nil || !strings.Contains(err.Error(), "missing.md") {
		t.Errorf("got %v", err)
	}
}

// The number of concurrent requests is bounded, and a waiting request can be cancelled.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		m := script.New(script.Turn(script.Wait(gate), script.Text("one")), script.Text("two"))
		p := limit(m, make(chan struct{}, 1))
		drain := func(ctx context.Context) (err error) {
			leave, err := p.(model.ConcurrencyLimiter).Enter(ctx)
			if err != nil {
				return err
			}
			defer leave()
			for _, e := range p.Stream(ctx, model.Request{}) {
				err = e
			}
			return err
		}
		first := make(chan error, 1)
		go func() { first <- drain(t.Context()) }()
		synctest.Wait()
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(enough)
		if err := drain(ctx); !errors.Is(err, enough) {
			t.Errorf("got %v", err)
		}
		if n := len(m.Requests()); n != 1 {
			t.Errorf("%d requests are under way", n)
		}
		close(gate)
		if err := <-first; err != nil {
			t.Error(err)
		}
		if err := drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// scripted is a model that follows the script.
func scripted(m *script.Model) model.Config {
	return model.Config{Provider: m, ProviderName: "script", Name: "scripted"}
}
