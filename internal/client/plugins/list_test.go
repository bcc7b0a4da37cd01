package plugins

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/config/plugin"
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

func TestPluginWithoutNameIsNamed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "My_Plugin")
	skill := filepath.Join(dir, "skills", "a", "SKILL.md")
	manifest := filepath.Join(dir, filepath.FromSlash(plugin.ManifestPath))
	for _, path := range []string{skill, manifest} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(skill, []byte("---\nname: a\ndescription: A\n---\nGo.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	store, from := plugin.NewStore(t.TempDir()), Source{Where: dir}
	add := func(name string) (plugin.Plugin, error) {
		folder, err := Choose(t.Context(), directory(dir), dir, "", name)
		if err != nil {
			return plugin.Plugin{}, err
		}
		if name == "" {
			name = DefaultName(from, folder)
		}
		return Stage(t.Context(), store, from, directory(dir), folder, name)
	}
	if _, err := add(""); err == nil || !strings.Contains(err.Error(), "--plugin NAME") {
		t.Errorf("no way is named: %v", err)
	}
	for _, text := range []string{"", `{"version": "1"}`, `{"name": "mine"}`} {
		if text != "" {
			if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p, err := add("mine")
		if err != nil || p.Name != "mine" {
			t.Errorf("%s: %q: %v", text, p.Name, err)
		}
		if err := store.Unstage(t.Context(), p); err != nil {
			t.Error(err)
		}
	}
	if _, err := add("other"); err == nil || !strings.Contains(err.Error(), `is the plugin "mine"`) {
		t.Errorf("it has another name: %v", err)
	}
}
