package setup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/modeltest"
)

// answers is an Asker that gives answers one after the other: the ID of a choice, a text, or "<"
// for Esc. After the last one, the person leaves.
type answers struct {
	t      *testing.T
	left   []string
	output []string
}

func (a *answers) Say(lines ...string) { a.output = append(a.output, lines...) }

func (a *answers) Ask(_ context.Context, q Question) (string, error) {
	a.output = append(a.output, "? "+q.Title)
	for _, c := range q.Choices {
		mark := "  "
		if c.ID == q.Selected {
			mark = "  (selected) "
		}
		a.output = append(a.output, mark+c.Label+" "+c.Detail)
	}
	if len(a.left) == 0 {
		return "", ErrLeft
	}
	next := a.left[0]
	a.left = a.left[1:]
	if next == "<" {
		return "", ErrBack
	}
	if len(q.Choices) > 0 && !q.Secret && !slices.ContainsFunc(q.Choices, func(c Choice) bool { return c.ID == next }) {
		a.t.Errorf("%q has no answer %q: %v", q.Title, next, q.Choices)
	}
	return next, nil
}

func (a *answers) Wait(ctx context.Context, _ string, do func(context.Context)) error {
	do(ctx)
	return nil
}

// try runs the setup with answers, and returns its output and the user's file afterwards.
func try(
	t *testing.T, dir string, vars map[string]string, servers []Server, given ...string,
) (said, file string, err error) {
	t.Helper()
	getenv := func(name string) string {
		if name == "XDG_CONFIG_HOME" {
			return dir
		}
		return vars[name]
	}
	r, err := config.Load(config.Input{Dir: t.TempDir(), Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	a := &answers{t: t, left: given}
	err = Setup{
		Asker: a, Options: assemble.Options{Settings: r, Getenv: getenv, Environ: os.Environ()}, Servers: servers,
	}.Run(t.Context())
	content, _ := os.ReadFile(filepath.Join(dir, "settle", "config.toml"))
	return strings.Join(a.output, "\n"), string(content), err
}

// A local server that answers is offered first; the choice works and is kept.
func TestSetupWithLocalServer(t *testing.T) {
	server := modeltest.NewServer(t, modeltest.Script(modeltest.Say("ready")))
	servers := []Server{
		{Name: "Ollama", ID: "ollama", Base: server.OpenAI()}, {Name: "vLLM", Base: "http://127.0.0.1:1/v1"},
	}
	said, file, err := try(t, t.TempDir(), nil, servers, "ollama", "fake-model")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"– no key: ANTHROPIC_API_KEY", "✓ Ollama at ", "with 1 model", "– no answer on the usual port of vLLM (1)",
		"  Anthropic needs a key", `✓ ollama/fake-model answered "ready" after`, "✓ settle uses ollama/fake-model",
		"  written to ",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q was not said:\n%s", want, said)
		}
	}
	want := fmt.Sprintf("model = \"ollama/fake-model\"\n\n[providers.ollama]\nwire = \"chat\"\nbase_url = %q\n",
		server.OpenAI())
	if file != want {
		t.Errorf("the file is %q, want %q", file, want)
	}
}

// A pasted key is tried before it is kept, and never shown; a refused key is not kept.
func TestSetupWithKey(t *testing.T) {
	const right, wrong = "sk-ant-right-0123456789", "sk-ant-wrong-0123456789"
	script := modeltest.Script(modeltest.Say("ready"), modeltest.Say("ready"))
	script.Rules.Keys = []string{right}
	server := modeltest.NewServer(t, script)
	dir, vars := t.TempDir(), map[string]string{"ANTHROPIC_BASE_URL": server.Anthropic()}
	said, file, err := try(t, dir, vars, nil,
		"anthropic", "<", // Esc goes back
		"anthropic", "paste", "two\nlines", wrong,
		"anthropic", "paste", right, "fake-model")
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if strings.Contains(said, right) || strings.Contains(said, wrong) {
		t.Errorf("a key was said:\n%s", said)
	}
	for _, want := range []string{"✗ anthropic: ", "401", "one line without control", "only you can read"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q was not said:\n%s", want, said)
		}
	}
	vars["ANTHROPIC_API_KEY"] = wrong // a key that is there and refused can be replaced
	_, file2, err := try(t, t.TempDir(), vars, nil, "anthropic", "anthropic", "paste", right, "fake-model")
	if err != nil || !strings.Contains(file2, "keys/anthropic.key") {
		t.Errorf("%v: %q", err, file2)
	}
	want := "model = \"anthropic/fake-model\"\n\n[providers.anthropic]\nkey_file = \"keys/anthropic.key\"\n"
	if file != want {
		t.Errorf("the file is %q", file)
	}
	if key, err := os.ReadFile(filepath.Join(dir, "settle", "keys", "anthropic.key")); string(key) != right+"\n" {
		t.Errorf("the key's file has %q, %v", key, err)
	}
}

// A key in the environment is found, and not copied. A command that prints the key is kept.
func TestSetupWithVariableOrCommand(t *testing.T) {
	server := modeltest.NewServer(t, modeltest.Script(modeltest.Say("ready"), modeltest.Say("ready")))
	vars := map[string]string{"OPENAI_API_KEY": "sk-0123456789abcdef", "OPENAI_BASE_URL": server.OpenAI()}
	said, file, err := try(t, t.TempDir(), vars, nil, "openai", "fake-model")
	if err != nil || file != "model = \"openai/fake-model\"\n" ||
		!strings.Contains(said, "✓ a key for OpenAI from OPENAI_API_KEY") || strings.Contains(said, "sk-0") {
		t.Errorf("%v: %q\n%s", err, file, said)
	}
	_, file, err = try(t, t.TempDir(), nil, nil, "other", "nonsense", server.OpenAI()+"/",
		"command", "echo sk-command-0123", "fake-model")
	want := "model = \"chat/fake-model\"\n\n[providers.chat]\nkey_command = \"echo sk-command-0123\"\n" +
		fmt.Sprintf("base_url = %q\n", server.OpenAI())
	if err != nil || file != want {
		t.Errorf("%v: %q, want %q", err, file, want)
	}
}

// If a person leaves, at any question, nothing is written.
func TestSetupWritesNothingIfLeft(t *testing.T) {
	server := modeltest.NewServer(t, modeltest.Script())
	all := []string{"anthropic", "paste", "sk-0123456789", "fake-model"} // the test request fails
	for n := range len(all) + 1 {
		dir := t.TempDir()
		_, _, err := try(t, dir, map[string]string{"ANTHROPIC_BASE_URL": server.Anthropic()}, nil, all[:n]...)
		if entries, _ := os.ReadDir(dir); !errors.Is(err, ErrLeft) || len(entries) > 0 {
			t.Errorf("after %v: %v, %v", all[:n], err, entries)
		}
	}
}

// A person without a key and a server reads how to try settle; nobody else does.
func TestSetupNamesScriptedModel(t *testing.T) {
	const words = "settle fake-model"
	said, _, _ := try(t, t.TempDir(), nil, nil)
	if !strings.Contains(said, words) {
		t.Errorf("without a key: %s", said)
	}
	said, _, _ = try(t, t.TempDir(), map[string]string{"OPENAI_API_KEY": "x"}, nil)
	if strings.Contains(said, words) {
		t.Errorf("with a key: %s", said)
	}
}

// Esc goes back one question, wherever it is asked, and keeps nothing of the question.
func TestSetupGoesBackOneStep(t *testing.T) {
	server := modeltest.NewServer(t, modeltest.Script(modeltest.Say("ready")))
	said, file, err := try(t, t.TempDir(), nil, nil,
		"other", server.OpenAI(), "paste", "<", // the kind of the key
		"no", "<", // the model: back to the kind of the key
		"<",                              // the address
		"<",                              // the provider
		"anthropic", "command", "<", "<", // the kind, the provider
		"other", server.OpenAI(), "no", "fake-model")
	var asked []string
	for line := range strings.Lines(said) {
		if title, ok := strings.CutPrefix(line, "? "); ok {
			asked = append(asked, strings.Fields(title)[0])
		}
	}
	want := "Provider Address, Does Key Does Model Does Address, Provider How Command, How Provider Address, Does Model"
	if got := strings.Join(asked, " "); got != want || err != nil {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
	}
	if !strings.Contains(file, "base_url") || strings.Contains(file, "key") {
		t.Errorf("the file is %q", file)
	}
}

// A text that is typed at the question how to give the key is the key itself. A text that is not a
// key is refused without showing it.
func TestSetupTakesKeyAtMenu(t *testing.T) {
	const key = "sk-ant-right-0123456789"
	script := modeltest.Script(modeltest.Say("ready"))
	script.Rules.Keys = []string{key}
	vars := map[string]string{"ANTHROPIC_BASE_URL": modeltest.NewServer(t, script).Anthropic()}
	said, file, err := try(t, t.TempDir(), vars, nil, "anthropic", key, "fake-model")
	if err != nil || !strings.Contains(file, "key_file") || strings.Contains(said, key) {
		t.Errorf("%v: %q\n%s", err, file, said)
	}
	said, _, err = try(t, t.TempDir(), vars, nil, "anthropic", "two\nlines")
	if !errors.Is(err, ErrLeft) || strings.Contains(said, "lines\n") || !strings.Contains(said, "✗ a key") {
		t.Errorf("%v\n%s", err, said)
	}
}

// An address without a scheme is http in the local network, else https.
func TestAddressWithoutScheme(t *testing.T) {
	for typed, want := range map[string]string{
		"localhost:9": "http://localhost:9", "127.0.0.1:9/v1": "http://127.0.0.1:9/v1", "[::1]:9": "http://[::1]:9",
		"gpu.lan:8000": "http://gpu.lan:8000", "models.example.com/v1": "https://models.example.com/v1",
		"http://models.example.com": "http://models.example.com", "ftp://x": "ftp://x", "nonsense": "nonsense", "": "",
		"https.example.com": "https://https.example.com", "http-models:80": "http://http-models:80",
	} {
		if got := withScheme(typed); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}

// An address with a mistyped scheme is refused: the scheme is not the name of a host.
func TestSetupRefusesMistypedScheme(t *testing.T) {
	for _, address := range []string{
		"https:/llm.example.com/v1", "http:/HOST:8000/v1", "https:llm.example.com", "HTTPS:/llm.example.com",
		"https//llm.example.com", "https;//llm.example.com", "http:8000",
	} {
		said, file, err := try(t, t.TempDir(), nil, nil, "other", address)
		if !errors.Is(err, ErrLeft) || file != "" || !strings.Contains(said, "✗ an address begins with") {
			t.Errorf("%s: %v: %q\n%s", address, err, file, said)
		}
	}
}

// An address without its version, or with the path of a request, leads to the server.
func TestSetupCompletesAddress(t *testing.T) {
	server := modeltest.NewServer(t, modeltest.Script(modeltest.Say("a"), modeltest.Say("b"), modeltest.Say("c")))
	bare := strings.TrimSuffix(server.OpenAI(), "/v1")
	for _, address := range []string{bare, bare + "/", server.OpenAI() + "/chat/completions"} {
		said, file, err := try(t, t.TempDir(), nil, nil, "other", address, "no", "fake-model")
		if err != nil || !strings.Contains(file, fmt.Sprintf("base_url = %q", server.OpenAI())) ||
			strings.Contains(said, "✗") {
			t.Errorf("%s: %v: %q\n%s", address, err, file, said)
		}
	}
}

// A setup with a model in force names it.
func TestSetupNamesModelInForce(t *testing.T) {
	server := modeltest.NewServer(t, modeltest.Script(modeltest.Say("ready")))
	dir := t.TempDir()
	if _, _, err := try(t, dir, nil, nil, "other", server.OpenAI(), "no", "fake-model"); err != nil {
		t.Fatal(err)
	}
	said, _, err := try(t, dir, nil, nil)
	if !errors.Is(err, ErrLeft) || !strings.HasPrefix(said, "settle uses chat/fake-model; choose another.") ||
		!strings.Contains(said, "(selected) chat ") {
		t.Errorf("%v\n%s", err, said)
	}
}

// Other programs use the same ports: only a list of models counts.
func TestFindAcceptsOnlyModelServers(t *testing.T) {
	for _, tt := range []struct {
		id, answer string
		status     int
		want       string
	}{
		{"ollama", `{"data":[{"id":"a"},{"id":"b"}]}`, 200, "true false [a b]"},
		{"ollama", `{"object":"list","data":null}`, 200, "true false []"},
		{"llamacpp", `<html>`, 200, "false false []"},
		{"llamacpp", `{}`, 200, "false false []"},
		{"vllm", `{"error":"Unauthorized"}`, 401, "true true []"},
		{"llamacpp", `no`, 401, "false false []"},
		{"vllm", `not found`, 404, "false false []"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			_, _ = w.Write([]byte(tt.answer))
		}))
		got := Find(t.Context(), []Server{{ID: tt.id, Base: server.URL}})[0]
		server.Close()
		if text := fmt.Sprint(got.Answers, " ", got.NeedsKey, " ", got.Models); text != tt.want {
			t.Errorf("%s, %s: %s, want %s", tt.id, tt.answer, text, tt.want)
		}
	}
}
