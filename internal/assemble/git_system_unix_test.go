//go:build unix

package assemble

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The git that settle asks before it knows a working directory is the system's: a repository
// can bring another one in a folder of PATH.
func TestSafeDirectoriesAskTheGitOfTheSystem(t *testing.T) {
	top := t.TempDir()
	bin, ran := filepath.Join(top, "node_modules", ".bin"), filepath.Join(top, "ran")
	config := filepath.Join(top, ".gitconfig")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		filepath.Join(bin, "git"): "#!/bin/sh\necho >" + ran + "\n",
		config:                    "[safe]\ndirectory = /srv/known\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := bin + ":" + os.Getenv("PATH")
	t.Setenv("PATH", path)
	env := []string{"PATH=" + path, "HOME=" + top}
	safe := Trust(env, func(name string) string { return variable(env, name) }).Safe()
	if !slices.Contains(safe, "/srv/known") {
		t.Errorf("safe.directory is %q", safe)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the repository's git ran")
	}
}
