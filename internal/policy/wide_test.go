package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/policy"
)

// A rule that allows to read everything, as "settle exec" has one, is not about
// what may be a secret without having the name of one.
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
	wide := newPolicy(t, policy.Config{Rules: []policy.Rule{rule("read", "/**", policy.Allow)}})
	for command, want := range map[string]policy.Decision{
		"cat /etc/hosts": policy.Allow, "cat a.txt": policy.Allow, "grep -rn x /usr/share/doc/bash": policy.Allow,
		"cat /proc/self/environ": policy.Ask, "cat /proc/*/environ": policy.Ask, "cat environ": policy.Ask, "head /dev/stdin": policy.Ask, "cat < /dev/tcp/x/1": policy.Ask,
		"grep -a x /proc/1/environ": policy.Ask, "cat .git/config": policy.Ask, "grep -rn url .git": policy.Ask, "rg --hidden -n url .": policy.Ask, "cat .docker/.env": policy.Ask,
		"cat .env-local": policy.Ask, "cat sub/.cargo/credentials.toml": policy.Ask, "grep -r x /": policy.Ask, "grep -r x /proc/self": policy.Ask, "cat " + strings.Repeat("../", strings.Count(dir, "/")) + "proc/self/environ": policy.Ask,
		"grep -rh . ..": policy.Ask, "git remote -v": policy.Ask,
	} {
		if j := wide.Judge(shell(t, dir, command)); j.Decision != want {
			t.Errorf("%s: %s, want %s: %s", command, j.Decision, want, j.Why)
		}
	}
	if j := wide.Judge(request(t, dir, "grep", map[string]any{"pattern": "KEY", "path": "/", "glob": "**/environ"})); j.Decision != policy.Ask {
		t.Errorf("grep /: %s", j.Decision)
	}
	for _, path := range []string{"/proc/self/environ", "environ", ".docker/.env"} {
		if j := wide.Judge(request(t, dir, "read", map[string]any{"path": path})); j.Decision != policy.Ask {
			t.Errorf("read %s: %s", path, j.Decision)
		}
	}
}
