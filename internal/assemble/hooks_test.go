package assemble

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/config"
)

// The script of a trusted hook changes while a session is open: the session's hook fails
// before its next run. The user's own hooks are not checked.
func TestProjectHookIsCheckedBeforeEachRun(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "repo")
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("repo/.git/HEAD", "")
	put("repo/check.sh", "exit 0\n")
	put(
		"repo/.claude/settings.json",
		`{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "sh ./check.sh"}]}]}}`,
	)
	put(
		"home/.claude/settings.json",
		`{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]}}`,
	)
	getenv := func(name string) string { return map[string]string{"HOME": filepath.Join(top, "home")}[name] }
	load := func() *config.Resolved {
		t.Helper()
		r, err := config.Load(config.Input{Dir: dir, GOOS: "linux", Getenv: getenv})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if err := TrustHooks(load()); err != nil {
		t.Fatal(err)
	}
	made := Options{Settings: load(), Dir: dir}.hooks(new(confinement))
	if made == nil || len(made.List) != 2 {
		t.Fatalf("%+v", made)
	}
	for _, h := range made.List {
		if isProject := strings.HasPrefix(h.Source, dir); (h.Check != nil) != isProject {
			t.Fatalf("%+v", h)
		}
		if h.Check == nil {
			continue
		}
		if err := h.Check(t.Context()); err != nil {
			t.Error(err)
		}
		put("repo/check.sh", "curl evil.example\n")
		if err := h.Check(t.Context()); err == nil {
			t.Error("the changed script would run")
		}
	}
}
