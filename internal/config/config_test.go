package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

// world is a machine with files and an environment.
type world struct {
	t   *testing.T
	dir string // parent of all files
	env map[string]string
	in  config.Input
}

// newWorld has a home, and a repository with the working directory repo/sub.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	w.env = map[string]string{"HOME": filepath.Join(w.dir, "home")}
	w.in = config.Input{
		Dir:    filepath.Join(w.dir, "repo", "sub"),
		Getenv: func(name string) string { return w.env[name] },
		Flags:  map[string]string{},
		GOOS:   "linux",
	}
	w.write("repo/.git/HEAD", "")
	w.write("repo/sub/main.go", "")
	return w
}

func (w *world) write(name, content string) {
	w.t.Helper()
	path := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) user(content string)    { w.write("home/.config/settle/config.toml", content) }
func (w *world) project(content string) { w.write("repo/.settle/config.toml", content) }

func (w *world) load() *config.Resolved {
	w.t.Helper()
	r, err := config.Load(w.in)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// plain replaces paths, so that they are the same in every run.
func (w *world) plain(text string) string {
	return filepath.ToSlash(strings.ReplaceAll(text, w.dir, ""))
}

func TestPrecedence(t *testing.T) {
	w := newWorld(t)
	check := func(model, origin string) {
		t.Helper()
		r := w.load()
		if got := w.plain(r.Origins["model"].String()); r.Model != model || got != origin {
			t.Errorf("model %q from %q, want %q from %q", r.Model, got, model, origin)
		}
	}
	check("", "")
	w.project("\nmodel = 'openai/project'")
	check("openai/project", "/repo/.settle/config.toml:2")
	w.write("repo/sub/.settle/config.toml", "model = 'openai/nearer'")
	check("openai/nearer", "/repo/sub/.settle/config.toml:1")
	w.user("# mine\n\nmodel = 'openai/user'")
	check("openai/user", "/home/.config/settle/config.toml:3")
	w.env["SETTLE_MODEL"] = "openai/env"
	check("openai/env", "SETTLE_MODEL")
	w.in.Flags["model"] = "openai/flag"
	check("openai/flag", "--model")
}

func TestTerminalInAFile(t *testing.T) {
	w := newWorld(t)
	w.user("[terminal]\ntheme = \"dark\"\nnotify = \"osc9\"\nkeys = \"vi\"\nlinks = \"off\"\n" +
		"status_line = \"{model} {{x}}\"\nstatus_command = [\"a\", \"b\"]\n")
	vi, err := keymap.New("vi", false, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := config.Terminal{
		Theme: "dark", Notify: "osc9", Keys: vi, Links: "off", Host: "inside", StatusLine: "{model} {{x}}",
		StatusCommand: []string{"a", "b"},
	}
	if diff := cmp.Diff(want, w.load().Terminal); diff != "" {
		t.Error(diff)
	}
}

func TestKeysInAFile(t *testing.T) {
	w := newWorld(t)
	w.user("[terminal.keys]\npreset = \"claude\"\nvi = true\ncopy = \"Ctrl-X\"\nredraw = []\nhelp = [\"?\", \"f1\"]\n")
	m := w.load().Terminal.Keys
	if got, want := m.String(), "claude, vi keys, copy=ctrl+x, help=? f1, redraw=none"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := m.Action(keymap.Prompt, "ctrl+o"); got != keymap.Transcript {
		t.Errorf("Ctrl-O is %q", got)
	}
}

const everySetting = `run_hooks = "own"
model = "mine/org/name"
effort = "high"
permission = "ask"
max_steps = 40
max_repeats = 0
compact = "mechanical"
timeout = "1h"
stall_timeout = "90s"
header_timeout = "2m"
thinking_timeout = "0s"
attempt_timeout = "3h"
retries = 0
retry_for = "1m"
tools = ["shell", "read"]
tool_family = "gpt"
pass_env = ["OPENAI_API_KEY"]
data_dir = "~/data"
log_level = "debug"
executor = "ssh there settle executor"
executor_lease = "1m"
executor_install = "missing"
[jobs]
release = "deny"
on_interrupt = "end"
on_exit = "release"
[sandbox]
use = "required"
mode = "read-only"
network = "on"
read = ["~/tools"]
[web]
search = "command"
search_command = ["find", "--json"]
[lsp]
use = "on"
servers = ["gopls"]
timeout = "2s"

[providers.mine]
wire = "chat"
base_url = "https://host/v1/"
key_env = "MINE_KEY"
key_command = ["pass", "mine"]
headers = { X-Team = "core" }
query = { api-version = "1" }
ca_file = "ca.pem"
extra_body = { top_k = 1 }
limits = { max_concurrent = 4 }

[models."mine/org/name"]
tool_family = "claude"
window = 1000
max_output = 100
images = false
thinking = true

[tasks]
depth = 1
at_once = 2
per_session = 3
timeout = "1m"

[review]
model = "chat/judge"
max_calls = 5
max_tokens = 6
max_cost = 0.5
timeout = "9s"
[rewind]
commands = "off"
max_files = 7
max_bytes = 8
timeout = "9s"
`

func TestEverySettingInAFile(t *testing.T) {
	w := newWorld(t)
	w.user(everySetting)
	r := w.load()
	no, yes := false, true
	want := config.Settings{
		Model: "mine/org/name", Effort: "high", Permission: "ask", MaxSteps: 40, Compact: "mechanical",
		Timeout: time.Hour, StallTimeout: 90 * time.Second, HeaderTimeout: 2 * time.Minute,
		AttemptTimeout: 3 * time.Hour,
		RetryFor:       time.Minute, Tools: []string{"shell", "read"}, ToolFamily: "gpt",
		PassEnv: []string{"OPENAI_API_KEY"}, MCPImport: []string{"claude", "codex"}, RulesImport: []string{"claude"},
		DataDir: filepath.Join(w.dir, "home", "data"), LogLevel: "debug", RunHooks: config.HooksOwn,
		Executor: "ssh there settle executor", ExecutorLease: time.Minute, ExecutorInstall: config.InstallMissing,
		Jobs:     config.Jobs{Release: "deny", OnInterrupt: "end", OnExit: "release"},
		Review:   config.Review{Model: "chat/judge", MaxCalls: 5, MaxTokens: 6, MaxCost: 0.5, Timeout: 9 * time.Second},
		Sandbox:  config.Sandbox{Use: "required", Mode: "read-only", Network: "on", Read: []string{"~/tools"}},
		Tasks:    config.Tasks{Depth: 1, AtOnce: 2, PerSession: 3, Timeout: time.Minute},
		Terminal: config.Terminal{Theme: "auto", Notify: "bell", Links: "auto", Host: "inside"},
		Web:      config.Web{Search: "command", SearchCommand: []string{"find", "--json"}},
		Rewind:   config.Rewind{Commands: config.RewindOff, MaxFiles: 7, MaxBytes: 8, Timeout: 9 * time.Second},
		LSP:      config.LSP{Use: "on", Servers: []string{"gopls"}, Timeout: 2 * time.Second},
		Models: map[string]config.Model{"mine/org/name": {
			Window: 1000, MaxOutput: 100, Images: &no, Thinking: &yes,
			ToolFamily: "claude",
		}},
	}
	got := r.Settings
	mine := got.Providers["mine"]
	got.Providers = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	file := func(line string) config.Origin {
		return config.Origin{Kind: config.File, Where: r.UserFile + ":" + line}
	}
	wantMine := config.Provider{
		Name: "mine", Wire: config.WireChat, BaseURL: "https://host/v1", KeyEnv: "MINE_KEY",
		KeyCommand: []string{"pass", "mine"},
		Headers:    map[string]string{"X-Team": "core"}, Query: map[string]string{"api-version": "1"},
		CAFile:    filepath.Join(filepath.Dir(r.UserFile), "ca.pem"),
		ExtraBody: map[string]any{"top_k": int64(1)}, MaxConcurrent: 4, Origin: file("40"), BaseURLOrigin: file("42"),
	}
	ignore := cmp.FilterPath(func(p cmp.Path) bool {
		return strings.Contains("keyNamed secrets vars", strings.TrimPrefix(p.Last().String(), "."))
	}, cmp.Ignore())
	if diff := cmp.Diff(wantMine, mine, cmp.AllowUnexported(config.Provider{}), ignore); diff != "" {
		t.Errorf("provider (-want +got):\n%s", diff)
	}
}

// An error names the line of the wrong file, before any request.
func TestMistakes(t *testing.T) {
	tests := []struct{ name, file, want string }{
		{"syntax", "model = \"a/b\"\nmodel =", "config.toml:2: is not TOML"},
		{"twice", "model = 'a/b'\nmodel = 'a/b'", "config.toml:2: is not TOML"},
		{"unknown key", "# x\nmax_step = 3", `config.toml:2: max_step: unknown setting; did you mean "max_steps"?`},
		{"unknown key without a neighbour", "colour = 3", "config.toml:1: colour: unknown setting\n"},
		{
			"unknown table", "[provider.x]\nwire='chat'",
			`config.toml:1: provider: unknown setting; did you mean "providers"?`,
		},
		{
			"unknown key of a provider", "[providers.x]\nwire='chat'\nbaseurl = 'http://h'",
			`config.toml:3: providers.x.baseurl: unknown setting; did you mean "base_url"?`,
		},
		{
			"unknown key of jobs", "[jobs]\non_exti = 'x'",
			`config.toml:2: jobs.on_exti: unknown setting; did you mean "on_exit"?`,
		},
		{"wrong type", "max_steps = 'many'", `config.toml:1: max_steps: must be a whole number, 0 or more, not "many"`},
		{"negative", "max_steps = -1", "must be a whole number, 0 or more, not -1"},
		{"float", "retries = 1.5", "must be a whole number, 0 or more, not 1.5"},
		{
			"bad duration", "timeout = '5 minutes'",
			`config.toml:1: timeout: must be a duration such as "90s" or "10m", not "5 minutes"`,
		},
		{
			"duration without a unit", "timeout = 600",
			`config.toml:1: timeout: 600 has no unit; did you mean "600s" (seconds)?`,
		},
		{
			"text without a unit", "stall_timeout = ' 1.5 '",
			`config.toml:1: stall_timeout: " 1.5 " has no unit; did you mean "1.5s" (seconds)?`,
		},
		{"negative duration", "timeout = '-5s'", "must be a duration"},
		{"absurd duration", "timeout = 9223372036854775807", "has no unit"},
		{"bad word", "permission = 'alow'", `"alow" is not one of allow, review, ask, deny; did you mean "allow"?`},
		{"not a list", "tools = 3", "must be a list of strings, not 3"},
		{"list of numbers", "tools = [1]", "each entry must be a string, not 1"},
		{"not a table", "jobs = 3", "config.toml:1: jobs: must be a table, not 3"},
		{"control characters", `model = "a/b\u001b[2J"`, "must be one line without control characters"},
		{"no wire", "[providers.x]\nbase_url='http://h'", "config.toml:1: providers.x.wire: is missing"},
		{
			"unknown wire", "[providers.x]\nwire='caht'",
			`"caht" is not one of openai, anthropic, gemini, chat; did you mean "chat"?`,
		},
		{
			"address without scheme", "[providers.x]\nwire='chat'\nbase_url='localhost:1'",
			"providers.x.base_url: must be a URL such as",
		},
		{"address with a query", "[providers.x]\nwire='chat'\nbase_url='http://h?k=secret'", "must have no query"},
		{"name", "[providers.'a/b']\nwire='chat'", "a provider name consists of lower-case letters"},
		{
			"variable", "[providers.x]\nwire='chat'\nheaders = {A='${NOT_SET}'}",
			"providers.x.headers.A: refers to NOT_SET, which is not set",
		},
		{
			"header", "[providers.x]\nwire='chat'\nheaders = {'A B'='c'}",
			"providers.x.headers.A B: is not a valid header name",
		},
		{"command", "[providers.x]\nwire='chat'\nkey_command = []", "must be a command"},
		{"model without provider", "[models.x]\nwindow=1", `"x" must be "PROVIDER/NAME"`},
		{
			"unknown action", "[terminal.keys]\ncopy = 'f2'\ntranscrip = 'f3'",
			`config.toml:3: terminal.keys.transcrip: unknown action; did you mean "transcript"?`,
		},
		{
			"unknown key of an action", "[terminal.keys]\ncopy = ['ctrl+x', 'ctrl+entr']",
			`config.toml:2: terminal.keys.copy: "ctrl+entr" is no key: write it like "ctrl+t", "alt+up" or "f5"; ` +
				`did you mean "enter"?`,
		},
		{
			"unknown preset", "[terminal.keys]\npreset = 'claud'",
			`config.toml:2: terminal.keys.preset: "claud" is not one of default, vi, claude, codex; ` +
				`did you mean "claude"?`,
		},
		{
			"misspelt preset", "[terminal.keys]\npreste = 'vi'",
			`terminal.keys.preste: unknown action; did you mean "preset"?`,
		},
		{
			"preset as text", "[terminal]\nkeys = 'emacs'",
			`config.toml:2: terminal.keys.preset: "emacs" is not one of`,
		},
		{
			"keys of a number", "[terminal]\nkeys = 3",
			`config.toml:2: terminal.keys: must be a table or the name of a preset`,
		},
		{
			"two keys at once", "[terminal.keys]\ncopy = 'x'\nmodel = 3",
			`config.toml:3: terminal.keys.model: must be a list of strings`,
		},
		{
			"unknown field", "[terminal]\nstatus_line = '{modl}'",
			`config.toml:2: terminal.status_line: has no field {modl}; did you mean "model"?`,
		},
		{"open brace", "[terminal]\nstatus_line = '{model'", `has an opening brace without a closing one`},
		{"all at once", "a1 = 1\nb1 = 2", "config.toml:2: b1: unknown setting"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.user(tt.file)
			_, err := config.Load(w.in)
			if err == nil || !strings.Contains(err.Error()+"\n", tt.want) {
				t.Fatalf("error %v, want %s", err, tt.want)
			}
			if _, ok := errors.AsType[*config.Error](err); !ok {
				t.Errorf("error of type %T", err)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

func TestMistakesOutsideFiles(t *testing.T) {
	w := newWorld(t)
	w.env["SETTLE_STALL_TIMEOUT_MS"] = "soon"
	w.env["OPENAI_BASE_URL"] = "nowhere"
	w.in.Flags = map[string]string{"max_steps": "x"}
	_, err := config.Load(w.in)
	for _, want := range []string{
		"SETTLE_STALL_TIMEOUT_MS: must be a duration", "OPENAI_BASE_URL: must be a URL",
		"--max-steps: must be a whole number",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestFileThatIsNoFile(t *testing.T) {
	w := newWorld(t)
	w.write("home/.config/settle/config.toml/x", "")
	if _, err := config.Load(w.in); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("error %v", err)
	}
	w = newWorld(t)
	w.user("# " + strings.Repeat("x", 2<<20))
	if _, err := config.Load(w.in); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("error %v", err)
	}
	w = newWorld(t)
	w.write("home/.config", "a file in the way")
	w.load()
	w.user2("\ufeffmodel = 'a/b'")
	if got := w.load().Model; got != "a/b" {
		t.Errorf("with a byte order mark: model %q", got)
	}
}

// user2 writes the user's file under XDG_CONFIG_HOME.
func (w *world) user2(content string) {
	w.env["XDG_CONFIG_HOME"] = filepath.Join(w.dir, "xdg")
	w.write("xdg/settle/config.toml", content)
}

func TestDataDir(t *testing.T) {
	dir := t.TempDir()
	home, xdg := filepath.Join(dir, "home"), filepath.Join(dir, "xdg")
	tests := []struct {
		name, goos string
		env        map[string]string
		want       string
	}{
		{"home", "linux", map[string]string{"HOME": home}, home + "/.local/share/settle"},
		{"xdg", "linux", map[string]string{"HOME": home, "XDG_DATA_HOME": xdg}, xdg + "/settle"},
		{"relative xdg", "linux", map[string]string{"HOME": home, "XDG_DATA_HOME": "x"}, home + "/.local/share/settle"},
		{
			"own", "linux",
			map[string]string{"HOME": home, "XDG_DATA_HOME": xdg, "SETTLE_DATA_DIR": dir + "/own"},
			dir + "/own",
		},
		{"own, relative", "linux", map[string]string{"SETTLE_DATA_DIR": "own"}, dir + "/own"},
		{"macOS", "darwin", map[string]string{"HOME": home}, home + "/Library/Application Support/settle"},
		{"Windows", "windows", map[string]string{"LocalAppData": xdg}, xdg + "/settle"},
		{"nothing", "linux", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := config.Load(config.Input{
				Dir: dir, GOOS: tt.goos,
				Getenv: func(name string) string { return tt.env[name] },
			})
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.NeedDataDir()
			if filepath.ToSlash(got) != filepath.ToSlash(tt.want) {
				t.Errorf("data directory %q, want %q", got, tt.want)
			}
			if tt.want == "" && (err == nil || !strings.Contains(err.Error(), "SETTLE_DATA_DIR")) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestWatchdog(t *testing.T) {
	const s, m = time.Second, time.Minute
	tests := []struct {
		name, host, file string
		want             config.Watchdog
	}{
		{"default", "api.example.com", "", config.Watchdog{600 * s, 180 * s, 15 * m, time.Hour}},
		{"loopback", "127.0.0.1:8000", "", config.Watchdog{30 * m, 180 * s, 15 * m, time.Hour}},
		{"private", "[fd00::1]:8000", "", config.Watchdog{30 * m, 180 * s, 15 * m, time.Hour}},
		{"name without dots", "gpu-box", "", config.Watchdog{30 * m, 180 * s, 15 * m, time.Hour}},
		{
			"stall bounds the others", "localhost", "stall_timeout='20s'",
			config.Watchdog{20 * s, 20 * s, 20 * s, time.Hour},
		},
		{
			"unless they are set", "h.example.com", "stall_timeout='20s'\nheader_timeout='1m'\nthinking_timeout='2m'",
			config.Watchdog{m, 20 * s, 2 * m, time.Hour},
		},
		{
			"a long stall bounds nothing", "h.example.com", "stall_timeout='1h'",
			config.Watchdog{600 * s, 60 * m, 15 * m, time.Hour},
		},
		{"off", "h.example.com", "stall_timeout=0", config.Watchdog{600 * s, 0, 15 * m, time.Hour}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.user(tt.file)
			if diff := cmp.Diff(tt.want, w.load().Watchdog(config.Provider{BaseURL: "http://" + tt.host})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A list of plugins that cannot be read could have blocking hooks: calls are refused.
func TestUnreadablePluginsDeny(t *testing.T) {
	w := newWorld(t)
	refusing := func() (broken []string) {
		for _, h := range w.load().Hooks {
			if h.Event == event.HookBefore && h.Broken != "" {
				broken = append(broken, w.plain(h.Broken))
			}
		}
		return broken
	}
	if got := refusing(); len(got) > 0 {
		t.Errorf("without plugins: %q", got)
	}
	data, err := filepath.Rel(w.dir, w.load().DataDir)
	if err != nil {
		t.Fatal(err)
	}
	w.write(filepath.Join(data, "plugins", "plugins.json"), "{")
	if got := refusing(); len(got) != 1 || !strings.Contains(got[0], "plugins.json") ||
		!strings.HasSuffix(got[0], "repair the file, or remove it and add the plugins again: settle plugins add") {
		t.Errorf("with a damaged list: %q", got)
	}
	if got := w.load().Refusals; len(got) != 1 || !strings.Contains(got[0], "plugins.json") {
		t.Errorf("the reasons for which each call is refused: %q", got)
	}
	w.in.Flags["run_hooks"] = "off"
	if got := refusing(); len(got) > 0 || len(w.load().Refusals) > 0 {
		t.Errorf("without hooks: %q", got)
	}
}

// Settings of other sessions, which have the same built-in providers, are not changed.
func TestProvidersOfOneSessionDoNotChangeOthers(t *testing.T) {
	w := newWorld(t)
	before := w.load().Providers
	address := before["openai"].BaseURL
	w.user("[providers.openai]\nbase_url = 'https://gateway.example/v1'")
	w.env["ANTHROPIC_AUTH_TOKEN"] = "a token of the user"
	if got := w.load().Providers; got["openai"].BaseURL == address || got["anthropic"].Headers == nil {
		t.Errorf("the settings have no effect: %+v", got)
	}
	w.user("")
	delete(w.env, "ANTHROPIC_AUTH_TOKEN")
	sessions := map[string]map[string]config.Provider{"an open": before, "a new": w.load().Providers}
	for name, providers := range sessions {
		if providers["openai"].BaseURL != address || providers["anthropic"].Headers != nil {
			t.Errorf("%s session has the settings of another one: %+v", name, providers)
		}
	}
}
