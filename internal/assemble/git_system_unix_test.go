//go:build unix

package assemble

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The git that settle asks before it knows a working directory is the system's: a repository
// can bring another one in a folder of PATH.
func TestSafeDirectoriesAskTheGitOfTheSystem(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		return
	}
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

// The git that answers whether a directory is trusted gets no key, and fetches nothing.
func TestTrustGivesGitNoKeys(t *testing.T) {
	env := gitEnvironment([]string{"HOME=/home/me", "SETTLE_API_KEY=secret", "GIT_DIR=/repository", "GIT_SSH=program"})
	for _, entry := range env {
		if strings.Contains(entry, "secret") || entry == "GIT_DIR=/repository" || entry == "GIT_SSH=program" {
			t.Errorf("git receives %s", entry)
		}
	}
	if !slices.Contains(env, "GIT_NO_LAZY_FETCH=1") || !slices.Contains(env, "HOME=/home/me") {
		t.Errorf("the environment is %q", env)
	}
}
