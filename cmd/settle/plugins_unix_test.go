//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/config/plugin"
)

// A refused update removes only the new copy, however old the trusted copy is.
func TestPluginUpdateRefusedKeepsTrustedCopy(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := filepath.Join(p.work, "demo")
	skill := filepath.Join(source, "skills", "a", "SKILL.md")
	if err := os.MkdirAll(filepath.Dir(skill), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(skill, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("---\nname: a\ndescription: A\n---\nOld.\n")
	tree, err := plugin.ReadDir(source, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.says("plugins", "add", source, "--yes", "--digest", tree.Digest())
	list, err := plugin.NewStore(p.data).List()
	if err != nil || len(list) != 1 {
		t.Fatalf("%d plugins: %v", len(list), err)
	}
	then := time.Now().Add(-2 * copyAge)
	for _, path := range []string{list[0].Root, list[0].Root + ".files"} {
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	write("---\nname: a\ndescription: A\n---\nNew.\n")
	cmd, keys, shot, _ := openTerminal(t, p, "plugins", "update", "demo")
	shot.shows(t, "[y/N]")
	typed(t, keys, "n\r")
	shot.shows(t, "Nothing was trusted.")
	exited(t, cmd, 0)
	if now := plugin.NewStore(p.data).Open(list[0].Record); now.Problem != "" {
		t.Errorf("the trusted copy: %s", now.Problem)
	}
	p.says("plugins", "remove", "demo") // its folders are read-only
}
