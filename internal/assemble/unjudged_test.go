package assemble

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The next session in the directory reports that a released sandboxed command left unjudged files.
func TestUnjudgedCommandsAreNamedByTheNextSession(t *testing.T) {
	data, dir := t.TempDir(), real(t.TempDir())
	s := sandboxing{dir: dir, dataDir: data, home: t.TempDir()}
	session := func(marker string) *sandboxes {
		b := newSandboxes(s, &confinement{}, marker)
		if err := b.repositories.Enter(t.Context(), b.repositories.Area()); err != nil {
			t.Fatal(err)
		}
		return b
	}
	if err := session("released").discard(); err != nil { // its command runs on
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"HEAD": "ref: refs/heads/main\n", "config": "[core]\n\tfsmonitor = evil\n", "objects/x": "", "refs/x": "",
	} {
		path := filepath.Join(dir, "planted", ".git", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if notes := s.unjudgedNotes(); len(notes) != 2 || !strings.Contains(notes[0], "ran on unwatched") ||
		!strings.HasPrefix(notes[1], "use git there only after the agent has run a command there") {
		t.Errorf("the user is told %q", notes)
	}
	if notes := s.unjudgedNotes(); len(notes) > 0 {
		t.Errorf("the user is told again: %q", notes)
	}
	for _, next := range []struct {
		marker string
		names  int
	}{{"second", 1}, {"third", 0}} {
		b := session(next.marker)
		found := b.repositories.Check(t.Context())
		if len(found) != next.names || next.names > 0 && !strings.Contains(found[0].String(), "planted") {
			t.Errorf("session %s: %v", next.marker, found)
		}
		b.repositories.Leave()
		if err := b.discard(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(data, "unjudged")); err != nil || len(left) > 0 {
		t.Errorf("records are left: %v, %v", left, err)
	}
}
