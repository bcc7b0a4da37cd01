package clienttest

import (
	"os"
	"path/filepath"
	"testing"
)

// WriteCommands writes a skill "tidy" and a command "review", as Claude Code has them,
// to a home directory.
func WriteCommands(t *testing.T, home string) {
	t.Helper()
	for name, text := range map[string]string{
		"skills/tidy/SKILL.md": "---\nname: tidy\ndescription: Tidy up\nargument-hint: DIR\n---\nTidy $ARGUMENTS.\n",
		"commands/review.md":   "---\ndescription: Review it\n---\nReview with care.\n",
	} {
		path := filepath.Join(home, ".claude", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
