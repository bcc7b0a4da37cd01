//go:build unix

package policy_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/policy"
)

// A pipe among the files blocks neither the policy nor a command that runs without an
// approval.
func TestPipesAreNotReadWithoutAQuestion(t *testing.T) {
	dir := newCalmDir(t)
	ask := newPolicy(t, dir, policy.Config{})
	pipe := func(name string) {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	decides := func(command string, want event.Permission) {
		t.Helper()
		if j := ask.Judge(shell(t, command)); j.Decision != want {
			t.Errorf("%s: %s, %s", command, j.Decision, j.Why)
		}
	}
	decides("git status", event.Allow)
	pipe("pipe")
	decides("cat pipe", event.Ask)
	decides("cat < pipe", event.Ask)
	decides("head p*", event.Ask)
	decides("ls -l pipe", event.Allow)
	for _, name := range []string{".git/index", ".git/HEAD", ".git/config", ".gitignore", "go.mod", ".git/commondir"} {
		path := filepath.Join(dir, name)
		kept, err := os.ReadFile(path)
		_ = os.Remove(path)
		pipe(name)
		if name != ".gitignore" && name != "go.mod" {
			decides("git status", event.Ask)
		}
		decides("rg foo", event.Allow)
		_ = os.Remove(path)
		if err == nil {
			if err := os.WriteFile(path, kept, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}
