package plugins

import (
	"os"
	"path/filepath"
	"testing"
)

func TestChooseKeepsHiddenFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".claude-plugin"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := `{"plugins": [{"name": "hidden", "source": "./.agents/x"}, {"name": "all", "source": "./"}]}`
	if err := os.WriteFile(filepath.Join(dir, listPath), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"hidden": ".agents/x", "all": ""} {
		if got, err := Choose(t.Context(), directory(dir), dir, "", name); err != nil || got != want {
			t.Errorf("%s: %q, want %q: %v", name, got, want, err)
		}
	}
}
