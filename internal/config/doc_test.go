package config_test

import (
	"os"
	"strings"
	"testing"
)

// The documentation lists every setting, and its example is valid.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```toml\nmodel")
	example, _, ok := strings.Cut("model"+example, "```")
	if !ok {
		t.Fatal("there is no example")
	}
	w := newWorld(t)
	w.user(example)
	r := w.load()
	if choice, err := r.Choose(); err != nil || choice.Model != "org/some-model" {
		t.Errorf("the example chooses %q, %v", choice.Model, err)
	}
	if len(r.Rules) == 0 {
		t.Error("the example has no rules")
	}
	for _, line := range r.Lines() {
		if !strings.HasPrefix(line.Key, "providers.") && !strings.HasPrefix(line.Key, "models.") &&
			!strings.HasPrefix(line.Key, "rules.") && !strings.HasPrefix(line.Key, "mcp.") &&
			!strings.HasPrefix(line.Key, "chosen.") &&
			!strings.Contains(string(page), "| `"+line.Key+"` |") {
			t.Errorf("%s is not documented", line.Key)
		}
	}
}
