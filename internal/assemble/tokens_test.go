package assemble_test

import (
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// maxFirst bounds the first request of a session in bytes, with the prompt and the tools,
// for every family: every session pays for it.
const maxFirst = 12 << 10

// firstModels has a model of each family and of each wire format.
func firstModels() map[string]string {
	return map[string]string{
		"gpt": "openai/gpt-5.2", "claude": "anthropic/claude-opus-5-5", "settle": "local/qwen",
		"gemini": "gemini/gemini-3.8-flash",
	}
}

func TestFirstRequest(t *testing.T) {
	for family, name := range firstModels() {
		server, s := families(t, map[string]string{"model": name}, modeltest.Say("hello"))
		prompt(t, s, "go")
		if n := len(server.Exchanges()[0].Body); n > maxFirst {
			t.Errorf("%s: the first request has %d bytes, want at most %d", family, n, maxFirst)
		} else {
			t.Logf("%s: %d bytes", family, n)
		}
	}
}
