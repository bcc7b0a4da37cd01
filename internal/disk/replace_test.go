package disk_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/settle-agent/settle/internal/disk"
)

func TestReplace(t *testing.T) {
	for name, replace := range map[string]func(string, []byte) error{"": disk.Replace, "durably": disk.ReplaceDurably} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			for _, content := range []string{"one, and more", "two"} {
				if err := replace(path, []byte(content)); err != nil {
					t.Fatal(err)
				}
				if got, err := os.ReadFile(path); err != nil || string(got) != content {
					t.Errorf("%q, %v", got, err)
				}
			}
			if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
				t.Fatal(err)
			}
			if replace(filepath.Join(dir, "taken"), nil) == nil {
				t.Error("a directory was replaced")
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
				t.Errorf("there are %v, %v", entries, err)
			}
			if replace(filepath.Join(dir, "none", "file"), nil) == nil {
				t.Error("a directory was made")
			}
		})
	}
}
