package about

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/prompt"
)

// A terminal receives no control characters of the project's files; a file receives the text.
func TestPromptNeutralisesTexts(t *testing.T) {
	var r assemble.FirstRequest
	r.Parts = []prompt.Part{{Name: "project\x1b[2J", Text: "Be\x1b]0;pwned\x07 kind.\nAlways."}}
	for _, isTerminal := range []bool{true, false} {
		var b strings.Builder
		if err := Prompt(&b, r, isTerminal); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if strings.ContainsAny(text, "\x1b\x07") == isTerminal || !strings.Contains(text, "\nAlways.\n") {
			t.Errorf("terminal %t: %q", isTerminal, text)
		}
	}
}
