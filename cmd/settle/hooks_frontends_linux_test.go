//go:build machine && linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// hookSettings are the settings of a user of Claude Code: one script handles all hook events.
const hookSettings = `{"hooks": {
	"SessionStart": [{"hooks": [{"type": "command", "command": "$HOME/hook start"}]}],
	"PreToolUse": [
		{"matcher": "Bash", "hooks": [{"type": "command", "command": "$HOME/hook before", "timeout": 25}]},
		{"matcher": "Read", "hooks": [{"type": "command", "command": "$HOME/hook hang", "timeout": 3}]}],
	"Stop": [{"hooks": [{"type": "command", "command": "$HOME/hook stop"}]}],
	"SessionEnd": [{"hooks": [{"type": "command", "command": "$HOME/hook end"}]}]}}`

// hookScript keeps a list of its runs. The format of its answers is in
// https://code.claude.com/docs/en/hooks.
const hookScript = `#!/bin/sh
echo "$1" >> "$HOME/runs" # first: the machine can be busy, and the hook of "hang" has only 3 s
input=$(cat)
case "$1 $input" in
start*) echo "The password is swordfish.";;
before*forbidden*) echo "not with me" >&2; exit 2;;
before*changeme*) echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"echo changed > made.txt"}}}';;
hang*) sleep 93.7;;
before*flood*) while :; do echo "much too much to say"; done;;
before*parent*) kill -9 $PPID; sleep 93.7;;
stop*'"stop_hook_active":true'*) ;;
stop*) echo "say it once more" >&2; exit 2;;
esac
`

// Every frontend: a hook denies a call, changes one, gives the model a text, and has it continue;
// one that hangs, floods or kills its parent denies within its time; and none of their processes is
// left.
func TestHooksRunInEveryFrontend(t *testing.T) {
	frontends := executorFrontends()
	frontends["terminal"] = func(s *frontendWithExecutor) {
		cmd, keys, shot, _ := openTerminal(s.t, s.place, "-m", "chat/m", "--base-url", s.server.OpenAI(), "--permission", "allow", "go on")
		shot.shows(s.t, "Settled.")
		shot.waits(s.t, "the end of the turn", func(all string) bool { // until then, Ctrl-D interrupts it
			_, after, said := strings.Cut(all, "Settled.")
			return said && strings.Contains(after, "✓ ")
		})
		typed(s.t, keys, "\x04")
		exited(s.t, cmd, 0)
	}
	for name, run := range frontends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &frontendWithExecutor{place: newPlace(t), during: func() {}}
			home := filepath.Join(filepath.Dir(s.work), "home")
			s.env = append(s.env, "MARK="+home)
			for name, text := range map[string]string{".claude/settings.json": hookSettings, "hook": hookScript} {
				path := filepath.Join(home, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			var calls []modeltest.Item
			for _, word := range []string{"forbidden", "flood", "parent"} {
				calls = append(calls, modeltest.Call("shell", `{"command":"echo `+word+` > bad.txt"}`))
			}
			calls = append(calls, modeltest.Call("shell", `{"command":"echo changeme > made.txt"}`), modeltest.Call("read", `{"path":"made.txt"}`))
			s.server = modeltest.NewServer(t, modeltest.Script(modeltest.Reply(calls...), modeltest.Say("I think I am done."), modeltest.Say("Settled. Done.")))
			run(s)
			if text, err := os.ReadFile(filepath.Join(s.work, "made.txt")); string(text) != "changed\n" {
				t.Errorf("made.txt is %q, %v", text, err)
			}
			if text, err := os.ReadFile(filepath.Join(s.work, "bad.txt")); err == nil {
				t.Errorf("a call ran that was denied: %s", text)
			}
			runs, _ := os.ReadFile(filepath.Join(home, "runs"))
			for word, want := range map[string]int{"start\n": 1, "before\n": 4, "hang\n": 1, "stop\n": 2, "end\n": 1} {
				if n := strings.Count(string(runs), word); n != want {
					t.Errorf("the hook ran %d times for %q, want %d", n, word, want)
				}
			}
			exchanges := s.server.Exchanges()
			last := string(exchanges[len(exchanges)-1].Body)
			for _, want := range []string{"The password is swordfish.", "not with me", "say it once more", "it did not end within 3s", "it was killed", "it put out more than"} {
				if !strings.Contains(last, want) {
					t.Errorf("the model was not told %q", want)
				}
			}
			if len(exchanges) != 3 || len(s.server.Refusals()) > 0 {
				t.Errorf("%d requests, refused %v", len(exchanges), s.server.Refusals())
			}
			s.nothing()
		})
	}
}
