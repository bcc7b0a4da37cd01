package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
)

// A rule that allows all reads, as "settle exec" has one, excludes files that can be secret
// under an ordinary name.
func TestWideRulesLeaveOutWhatMayBeSecret(t *testing.T) {
	dir := newCalmDir(t)
	for name, text := range map[string]string{
		".git/config": "[remote \"o\"]\n\turl = https://user:word@example.com/x\n", ".docker/.env": "x\n", ".env-local": "x\n", "sub/.cargo/credentials.toml": "x\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/proc/self/environ", filepath.Join(dir, "environ")); err != nil {
		t.Fatal(err)
	}
	wide := newPolicy(t, dir, policy.Config{Rules: []config.Rule{rule("read", "/**", event.Allow)}})
	for command, want := range map[string]event.Permission{
		"cat /etc/hosts": event.Allow, "cat a.txt": event.Allow, "grep -rn x /usr/share/doc/bash": event.Allow,
		"cat /proc/self/environ": event.Ask, "cat /proc/*/environ": event.Ask, "cat environ": event.Ask, "head /dev/stdin": event.Ask, "cat < /dev/tcp/x/1": event.Ask,
		"grep -a x /proc/1/environ": event.Ask, "cat .git/config": event.Ask, "grep -rn url .git": event.Ask, "rg --hidden -n url .": event.Ask, "cat .docker/.env": event.Ask,
		"cat .env-local": event.Ask, "cat sub/.cargo/credentials.toml": event.Ask, "grep -r x /": event.Ask, "grep -r x /proc/self": event.Ask, "cat " + strings.Repeat("../", strings.Count(dir, "/")) + "proc/self/environ": event.Ask,
		"grep -rh . ..": event.Ask, "git remote -v": event.Ask,
	} {
		if j := wide.Judge(shell(t, command)); j.Decision != want {
			t.Errorf("%s: %s, want %s: %s", command, j.Decision, want, j.Why)
		}
	}
	if j := wide.Judge(request(t, "grep", map[string]any{"pattern": "KEY", "path": "/", "glob": "**/environ"})); j.Decision != event.Ask {
		t.Errorf("grep /: %s", j.Decision)
	}
	for _, path := range []string{"/proc/self/environ", "environ", ".docker/.env"} {
		if j := wide.Judge(request(t, "read", map[string]any{"path": path})); j.Decision != event.Ask {
			t.Errorf("read %s: %s", path, j.Decision)
		}
	}
}
