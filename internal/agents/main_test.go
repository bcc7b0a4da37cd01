package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) {
	proc.RunAsSupervisor()
	os.Exit(leak.Run(m))
}

// Without a repository or without git, planning a worktree returns an error and makes nothing.
func TestPlanFailsWithoutRepository(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	k := Worktrees{Dir: dir + "/worktrees", Env: []string{"PATH=" + dir}}
	for _, session := range []string{"s1", "", "../s1", "."} {
		if w, err := k.Plan(t.Context(), dir, session); err == nil {
			t.Errorf("session %q gets %+v", session, w)
		}
	}
	for path, content := range map[string]string{"HEAD": "ref: refs/heads/main\n", "objects/x": "", "refs/x": "", "config": ""} {
		write(t, dir+"/.git/"+path, content)
	}
	if w, err := k.Plan(t.Context(), dir, "s1"); err == nil ||
		!strings.HasPrefix(err.Error(), `cannot give the agent a git worktree of its own: cannot run git: `) {
		t.Errorf("without git: %+v, %v", w, err)
	}
	if _, err := os.Lstat(k.Dir); err == nil {
		t.Error("a folder was made")
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
