package repo_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/repo"
)

func TestPath(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b", "c")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{deep}, repo.Path(deep)); diff != "" {
		t.Errorf("without a repository (-want +got):\n%s", diff)
	}
	// In a worktree .git is a file.
	if err := os.WriteFile(filepath.Join(root, "a", ".git"), []byte("gitdir: x"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(root, "a"), filepath.Join(root, "a", "b"), deep}
	if diff := cmp.Diff(want, repo.Path(deep+"/")); diff != "" {
		t.Errorf("within a worktree (-want +got):\n%s", diff)
	}
	if got, ok := repo.Root(filepath.Join(deep, "missing")); !ok || got != want[0] {
		t.Errorf("Root of a missing directory = %q, %v", got, ok)
	}
}
