package config_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/config"
)

func TestChoose(t *testing.T) {
	const local = "[providers.gpu]\nwire='chat'\nbase_url='http://gpu:8000/v1'\nmodel='org/qwen'\n"
	tests := []struct {
		name, file string
		env, flags map[string]string
		want       string // PROVIDER MODEL ADDRESS, or an error
	}{
		{"named", "", nil, map[string]string{"model": "openai/gpt-6"}, "openai gpt-6 https://api.openai.com/v1"},
		{"slashes in the name", local, nil, map[string]string{"model": "gpu/a/b/c"}, "gpu a/b/c http://gpu:8000/v1"},
		{
			"one key", "",
			map[string]string{"ANTHROPIC_API_KEY": "k"},
			nil,
			"anthropic claude-opus-5-5 https://api.anthropic.com",
		},
		{"own provider", local, nil, nil, "gpu org/qwen http://gpu:8000/v1"},
		{"address from the environment", "", map[string]string{
			"OPENAI_API_KEY":  "k",
			"OPENAI_BASE_URL": "http://h/v1/",
		}, nil, "openai gpt-6.1-sol http://h/v1"},
		{
			"address from a flag", "",
			map[string]string{"OPENAI_BASE_URL": "http://h/v1"},
			map[string]string{"model": "openai/x", "base_url": "http://f/v1"},
			"openai x http://f/v1",
		},
		{
			"chat with an address", "", nil,
			map[string]string{"model": "chat/x", "base_url": "http://f/v1"},
			"chat x http://f/v1",
		},

		{
			"chat without an address", "", nil,
			map[string]string{"model": "chat/x"},
			`--model: provider "chat" has no address; use --base-url http://HOST/v1`,
		},
		{"no key", "", nil, nil, "no model was named and no provider has a key\n" +
			"  run \"settle setup\" in a terminal, or set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY\n"},
		{
			"two keys", "",
			map[string]string{"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"},
			nil,
			"anthropic claude-opus-5-5 https://api.anthropic.com",
		},
		{
			"own provider and two keys", local,
			map[string]string{"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"},
			nil,
			"gpu org/qwen http://gpu:8000/v1",
		},
		{
			"configured, and two keys", "model='openai/x'",
			map[string]string{"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"},
			nil,
			"openai x https://api.openai.com/v1",
		},
		{
			"no provider", "",
			map[string]string{"SETTLE_MODEL": "gpt-6"},
			nil,
			`SETTLE_MODEL: "gpt-6" must be PROVIDER/NAME; choices: anthropic/gpt-6, chat/gpt-6, gemini/gpt-6, openai/gpt-6`,
		},
		{
			"only a provider", "", nil,
			map[string]string{"model": "openai/"},
			`"openai/" must be PROVIDER/NAME; choices: openai/gpt-6.1-sol`,
		},
		{
			"unknown provider", "", nil,
			map[string]string{"model": "opnai/x"},
			`there is no provider "opnai"; did you mean "openai"?`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.user(tt.file)
			for name, value := range tt.env {
				w.env[name] = value
			}
			w.in.Flags = tt.flags
			choice, err := w.load().Choose()
			got := strings.Join([]string{choice.Provider.Name, choice.Model, choice.Provider.BaseURL}, " ")
			if err != nil {
				got = err.Error()
			}
			if err == nil && got != tt.want || !strings.Contains(got, tt.want) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// A compatibility command prefers the provider of its family, and a note explains a choice
// among several.
func TestChooseOfTheFamily(t *testing.T) {
	for _, tt := range []struct {
		family     config.Wire
		keys       []string
		want, note string
	}{
		{
			config.WireOpenAI,
			[]string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY"},
			"openai/gpt-6.1-sol",
			"using openai/gpt-6.1-sol; also ready: anthropic/claude-opus-5-5 (choose with --model",
		},
		{
			config.WireAnthropic,
			[]string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY"},
			"anthropic/claude-opus-5-5",
			"also ready: openai/gpt-6.1-sol",
		},
		{config.WireOpenAI, []string{"ANTHROPIC_API_KEY"}, "anthropic/claude-opus-5-5", ""},
		{"", []string{"OPENAI_API_KEY"}, "openai/gpt-6.1-sol", ""},
	} {
		w := newWorld(t)
		for _, name := range tt.keys {
			w.env[name] = "k"
		}
		w.in.Family = tt.family
		c, err := w.load().Choose()
		if err != nil || c.String() != tt.want || !strings.Contains(c.Note, tt.note) || tt.note == "" && c.Note != "" {
			t.Errorf("%s, %v: %s, %q, %v", tt.family, tt.keys, c, c.Note, err)
		}
	}
}

// settle asks providers that need no key for their models, and providers without their key only if
// no other can be asked.
func TestAskableProviders(t *testing.T) {
	w := newWorld(t)
	check := func(want string) {
		t.Helper()
		var names []string
		list, err := w.load().Askable()
		for _, p := range list {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != want || err != nil {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	check("anthropic openai gemini")
	w.user("[providers.chat]\nbase_url = \"http://127.0.0.1:1/v1\"\n")
	check("chat")
	w.env["OPENAI_API_KEY"] = "k"
	check("openai chat")
}

func TestKey(t *testing.T) {
	const own = "[providers.own]\nwire='chat'\nbase_url='https://h/v1'\n"
	tests := []struct{ name, file, model, env, printed, want string }{
		{"variable", "", "openai/x", "OPENAI_API_KEY= abc\n", "", "abc"},
		{
			"none", "", "openai/x", "", "",
			"error: there is no key; set OPENAI_API_KEY, or run \"settle setup\" in a terminal",
		},
		{"none for a local server", "[providers.openai]\nbase_url='http://localhost/v1'", "openai/x", "", "", ""},
		{"none for chat", "[providers.chat]\nbase_url='https://h/v1'", "chat/x", "", "", ""},
		{"chat with a key", "[providers.chat]\nbase_url='https://h/v1'", "chat/x", "SETTLE_API_KEY=k", "", "k"},
		{"own without a key", own, "own/x", "", "", ""},
		{
			"own with a variable that is not set", own + "key_env='OWN'", "own/x", "", "",
			"error: there is no key; set OWN, or run \"settle setup\" in a terminal",
		},
		{"command", own + "key_command=['pass','own']", "own/x", "", "abc\n", "abc"},
		{
			"command of a built-in one", "[providers.openai]\nkey_command='x'", "openai/x", "OPENAI_API_KEY=other",
			"abc\n", "abc",
		},
		{"variable before command", own + "key_command='x'\nkey_env='OWN'", "own/x", "OWN=env", "cmd", "env"},
		{"command prints nothing", own + "key_command='x'", "own/x", "", " \n", "error: key_command printed nothing"},
		{"command fails", own + "key_command='x'", "own/x", "", "fail", "error: key_command failed: exit status 1"},
		{
			"two lines", own + "key_command='x'", "own/x", "", "abc\ndef",
			"error: the key from key_command contains a line break",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.user(tt.file)
			if name, value, ok := strings.Cut(tt.env, "="); ok {
				w.env[name] = value
			}
			w.in.Flags["model"] = tt.model
			r := w.load()
			choice, err := r.Choose()
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Key(t.Context(), choice.Provider, func(context.Context, []string) (string, error) {
				if tt.printed == "fail" {
					return "", errors.New("exit status 1")
				}
				return tt.printed, nil
			})
			if wrong, ok := errors.AsType[*config.KeyError](err); ok {
				got = "error: " + wrong.Message
			}
			if tt.want == "" && got != "" || !strings.HasPrefix(got, tt.want) {
				t.Errorf("key %q, want %q", got, tt.want)
			}
		})
	}
}

// C15: no shown value contains a secret, and Secrets has every value to mask.
func TestSecrets(t *testing.T) {
	w := newWorld(t)
	w.env["OPENAI_API_KEY"] = "openai-0123456789"
	w.env["GATEWAY"] = "gateway-0123456789"
	w.env["HTTPS_PROXY"] = "http://me:proxy-0123456789@proxy:1"
	w.user(`
[providers.own]
wire = "chat"
base_url = "https://me:address-0123456789@host/v1"
headers = { X-Auth = "header-0123456789", X-Gateway = "g ${GATEWAY}", X-Team = "core" }
query = { api-key = "query-0123456789" }
`)
	r := w.load()
	want := []string{"openai", "gateway", "proxy", "address", "header", "query"}
	secrets := strings.Join(r.Secrets(), "\n")
	var text strings.Builder
	for _, line := range r.Lines() {
		text.WriteString(line.Key + " = " + line.Value + "\n")
	}
	for _, name := range want {
		if !strings.Contains(secrets, name+"-0123456789") {
			t.Errorf("the secret of %s is not known", name)
		}
		if strings.Contains(text.String(), name+"-0123456789") {
			t.Errorf("the secret of %s is shown:\n%s", name, text.String())
		}
	}
	if !strings.Contains(text.String(), "X-Team=core") || !strings.Contains(text.String(), "OPENAI_API_KEY (set)") {
		t.Errorf("too much is masked:\n%s", text.String())
	}
	if diff := cmp.Diff([]string{"GATEWAY", "OPENAI_API_KEY"}, r.Withheld()); diff != "" {
		t.Errorf("withheld (-want +got):\n%s", diff)
	}
	w.in.Flags["pass_env"] = "OPENAI_API_KEY, OTHER"
	if diff := cmp.Diff([]string{"GATEWAY"}, w.load().Withheld()); diff != "" {
		t.Errorf("withheld with --pass-env (-want +got):\n%s", diff)
	}
	// A key is withheld under any variable name. A proxy's password is not withheld,
	// because commands need it, and neither is a value that --pass-env names under another
	// name.
	for value, want := range map[string]bool{
		"openai-0123456789": true, "x=gateway-0123456789": true,
		"proxy-0123456789": false, "": false,
	} {
		if got := r.Withholds(value); got != want {
			t.Errorf("%q is withheld: %t", value, got)
		}
	}
	if w.load().Withholds("openai-0123456789") {
		t.Error("what --pass-env names is withheld under another name")
	}
}
