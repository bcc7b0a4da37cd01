package config

import (
	"os"
	"strings"
	"testing"
)

// The reference marks exactly the settings that no project can set.
func TestDocumentationMarksRefusedSettings(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(page)) {
		if rest, ok := strings.CutPrefix(line, "| `"); ok {
			key, _, _ := strings.Cut(rest, "`")
			rows[key] = strings.TrimSpace(line)
		}
	}
	for _, k := range settings() {
		row, ok := rows[k.key]
		if marked := strings.HasSuffix(row, " † |"); !ok || marked != (k.project == refused) {
			t.Errorf("%s: marked is %v, and the rule for projects is %q", k.key, marked, k.project)
		}
	}
}
