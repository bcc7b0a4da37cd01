package demo

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/client/setup"
	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

func TestNextCommandsNeedAnInstalledSettle(t *testing.T) {
	dir := t.TempDir()
	if got := afterInstalling([]string{"PATH=" + dir}); !strings.Contains(got, "installed settle") {
		t.Errorf("without settle in PATH: %q", got)
	}
	name := "settle"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil { // a program
		t.Fatal(err)
	}
	if got := afterInstalling([]string{"PATH=" + dir}); got != "" {
		t.Errorf("with settle in PATH: %q", got)
	}
}

// The last lines of the demo are three commands that fit the machine.
func TestNextCommands(t *testing.T) {
	answer := `{"data":[{"id":"qwen3-coder"}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	at := func(base string) []setup.Server { return []setup.Server{{Name: "Ollama", ID: "ollama", Base: base}} }
	for _, tt := range []struct {
		environ []string
		server  string
		want    string
	}{
		{[]string{"OPENAI_API_KEY=x"}, server.URL, "OPENAI_API_KEY is set"},
		{[]string{"OPENAI_API_KEY="}, server.URL, "settle --model chat/qwen3-coder --base-url " + server.URL},
		{nil, "http://127.0.0.1:1", "settle setup     # choose"},
	} {
		got := nextCommands(t.Context(), tt.environ, at(tt.server))
		if !strings.Contains(got, tt.want) || strings.Count(got, "\n") != 3 {
			t.Errorf("%v: %q", tt.environ, got)
		}
	}
	for _, answer = range []string{`{"data":[{"id":"x; rm"}]}`, "<html>", `{"data":[]}`} {
		if got := nextCommands(t.Context(), nil, at(server.URL)); !strings.Contains(got, "choose a model") {
			t.Errorf("%s: %q", answer, got)
		}
	}
}
