package demo

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// The last lines of the demo are three commands that fit the machine.
func TestNextCommands(t *testing.T) {
	answer := `{"data":[{"id":"qwen3-coder"}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	for _, tt := range []struct {
		environ, servers []string
		want             string
	}{
		{[]string{"OPENAI_API_KEY=x"}, []string{server.URL}, "OPENAI_API_KEY is set"},
		{[]string{"OPENAI_API_KEY="}, []string{server.URL}, "settle --model chat/qwen3-coder --base-url " + server.URL},
		{nil, []string{"http://127.0.0.1:1"}, "export ANTHROPIC_API_KEY"},
	} {
		got := nextCommands(t.Context(), tt.environ, tt.servers)
		if !strings.Contains(got, tt.want) || strings.Count(got, "\n") != 3 {
			t.Errorf("%v: %q", tt.environ, got)
		}
	}
	for _, answer = range []string{`{"data":[{"id":"x; rm"}]}`, "<html>", `{"data":[]}`} {
		if got := nextCommands(t.Context(), nil, []string{server.URL}); !strings.Contains(got, "export") {
			t.Errorf("%s: %q", answer, got)
		}
	}
}
