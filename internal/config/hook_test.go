package config_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/repo"
)

const claudeHooks = `{"permissions": {"allow": ["Bash"]}, "hooks": {
	"PreToolUse": [{"matcher": "Bash|Edit", "hooks": [
		{"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/check.sh", "timeout": 5},
		{"type": "http", "url": "https://example.com"}]}],
	"Stop": [{"hooks": [{"type": "prompt", "prompt": "done?"}, {"type": "command", "command": "say done"}]}],
	"SomethingNew": [{"hooks": [{"type": "command", "command": "x"}]}]}}`

func commands(list []config.Hook) string {
	var all []string
	for _, h := range list {
		all = append(all, string(h.Event)+" "+h.Command)
	}
	return strings.Join(all, "; ")
}

// TestHooksOfTheUser: settle's own hooks, then the hooks of Claude Code and Codex.
func TestHooksOfTheUser(t *testing.T) {
	w := newWorld(t)
	w.user("[[hooks.PreToolUse]]\nmatcher = \"shell\"\ncommand = \"mine\"\ntimeout = \"3s\"\n")
	w.write("home/.claude/settings.json", claudeHooks)
	w.write("home/.codex/config.toml",
		"model = \"x\"\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"codex\"\n")
	r := w.load()
	want := `PreToolUse mine; PreToolUse "$CLAUDE_PROJECT_DIR"/.claude/hooks/check.sh; PreToolUse http; Stop say done; Stop codex`
	if got := commands(r.Hooks); got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
	for _, h := range r.Hooks {
		if !h.Own || h.Dir != "" || h.Origin.Where == "" {
			t.Errorf("%+v", h)
		}
	}
	if r.Hooks[0].Timeout != 3*time.Second || r.Hooks[1].Timeout != 5*time.Second || r.Hooks[2].Broken == "" ||
		r.Hooks[1].Matcher != "Bash|Edit" {
		t.Errorf("%+v", r.Hooks)
	}
}

// Each hook of the user's file names its own line.
func TestHooksOfUserNameTheirLines(t *testing.T) {
	w := newWorld(t)
	w.user("[[hooks.PreToolUse]]\ncommand = \"a\"\n[[hooks.Stop]]\ncommand = \"b\"\n" +
		"[[hooks.PreToolUse]]\ncommand = \"c\"\n")
	var lines []string
	for _, h := range w.load().Hooks {
		lines = append(lines, h.Command+h.Origin.Where[strings.LastIndexByte(h.Origin.Where, ':'):])
	}
	if got := strings.Join(lines, " "); got != "a:1 c:5 b:3" {
		t.Errorf("got %q", got)
	}
}

// TestHooksOfAProject: trusted hooks run, and stop running if they or their scripts change.
func TestHooksOfAProject(t *testing.T) {
	w := newWorld(t)
	w.write("repo/.claude/settings.json", claudeHooks)
	w.write("repo/.claude/hooks/check.sh", "exit 0\n")
	dir := filepath.Join(w.dir, "repo")
	r := w.load()
	if len(r.Hooks) > 0 || len(r.ProjectHooks) != 1 ||
		!strings.Contains(strings.Join(r.Notes, "\n"), "settle hooks --trust") {
		t.Fatalf("%+v, %q", r.ProjectHooks, r.Notes)
	}
	recorded, _ := json.Marshal(map[string]string{r.ProjectHooks[0].Path: r.ProjectHooks[0].Hash})
	name, err := filepath.Rel(w.dir, r.TrustFile())
	if err != nil {
		t.Fatal(err)
	}
	w.write(name, string(recorded))
	if r = w.load(); len(r.Hooks) != 3 || r.Hooks[0].Own || r.Hooks[0].Dir != dir ||
		r.Hooks[0].Event != event.HookBefore {
		t.Fatalf("trusted: %+v", r.Hooks)
	}
	trusted, project := r.ProjectHooks[0], repo.Trust{}.Project(dir)
	if err := trusted.Check(t.Context(), project); err != nil {
		t.Error(err)
	}
	w.write("repo/.claude/hooks/check.sh", "exit 1\n")
	if err := trusted.Check(t.Context(), project); err == nil ||
		!strings.Contains(err.Error(), "settle hooks --trust") {
		t.Errorf("a script changed while a session is open: %v", err)
	}
	if r = w.load(); len(r.Hooks) > 0 {
		t.Errorf("a script changed, and its hooks are run: %+v", r.Hooks)
	}
}

// The hash of a project's hooks covers all of a large script.
func TestHashCoversLargeScript(t *testing.T) {
	w := newWorld(t)
	w.write("repo/.claude/settings.json", claudeHooks)
	script := strings.Repeat("#\n", 1<<20)
	w.write("repo/.claude/hooks/check.sh", script+"exit 0\n")
	project := repo.Trust{}.Project(filepath.Join(w.dir, "repo"))
	file := w.load().ProjectHooks[0]
	if err := file.Check(t.Context(), project); err != nil || file.Problem != "" {
		t.Errorf("%v, %q", err, file.Problem)
	}
	w.write("repo/.claude/hooks/check.sh", script+"exit 1\n")
	if err := file.Check(t.Context(), project); err == nil {
		t.Error("a change after the first MiB was not seen")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("late"))
	if err := file.Check(ctx, project); err == nil || err.Error() != "late" {
		t.Errorf("a check that has ended: %v", err)
	}
	if err := os.Truncate(filepath.Join(w.dir, "repo/.claude/hooks/check.sh"), 65<<20); err != nil {
		t.Fatal(err)
	}
	if err := file.Check(t.Context(), project); err == nil || !strings.Contains(err.Error(), "64 MB") {
		t.Errorf("a script of 65 MB: %v", err)
	}
	r := w.load()
	if file := r.ProjectHooks[0]; file.Trusted || file.Problem == "" || len(r.Hooks) > 0 ||
		!strings.Contains(strings.Join(r.Notes, "\n"), "64 MB") {
		t.Errorf("%+v, %q", file, r.Notes)
	}
}
