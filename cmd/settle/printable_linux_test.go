package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// Every command shows a text of a model, a command or a file without the terminal obeying it.
func TestTerminalObeysNobody(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const evil = "a\x1b]0;t\x07b\u009b2Jc\u202ed\u2066e\x7ff\rg\u200fh"
	call, err := json.Marshal(
		map[string]string{
			"command": `printf 'a\033]0;t\007b\302\2332Jc\342\200\256d\342\201\246e\177f\rg\2332J\n'; exit 3`,
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	turns := []modeltest.Turn{modeltest.Reply(modeltest.Call("shell", string(call))), modeltest.Say(evil)}
	server := modeltest.NewServer(t, modeltest.Scenario{Loop: true, Turns: turns})
	model := []string{"-m", "chat/m", "--base-url", server.OpenAI()}
	tests := []struct {
		name string
		code int
		args []string
	}{
		{"run", 0, append([]string{"run", "--session", "s", "ask " + evil}, model...)},
		{"run --json", 0, append([]string{"run", "--json=deltas", "--session", "t", "ask " + evil}, model...)},
		{"exec", 0, append([]string{"exec", "--skip-git-repo-check", "ask " + evil}, model...)},
		{"exec --json", 0, append([]string{"exec", "--json", "ask " + evil}, model...)},
		{"show", 0, []string{"sessions", "show", "s"}},
		{"export", 0, []string{"sessions", "export", "s"}},
		{"list", 0, []string{"sessions", "list"}},
		{"list --json", 0, []string{"sessions", "list", "--json"}},
		{"check", 0, []string{"sessions", "check", "s"}},
		{"no such session", 1, []string{"sessions", "show", "x" + evil}},
		{"wrong directory", 2, []string{"run", "-C", "/x" + evil, "go"}},
		{"wrong flag", 2, []string{"run", "--x" + evil, "go"}},
		{"wrong model", 2, []string{"run", "-m", "y" + evil, "go"}},
	}
	for _, tt := range tests { // one after the other: they share sessions
		cmd := exec.CommandContext(p.ctx, "settle", tt.args...)
		cmd.Dir, cmd.Env = p.work, append(p.env, "TERM=dumb")
		shot := onTerminal(t, cmd)
		text := ended(t, cmd, shot, tt.code)
		if text == "" {
			t.Errorf("%s: it shows nothing", tt.name)
		}
		for _, obeyed := range []string{"\x1b]", "\x07", "\u009b", "\x9b2J", "\u202e", "\u2066", "\u200f", "\x7f", "f\rg"} {
			if strings.Contains(text, obeyed) {
				t.Errorf("%s: the terminal got %q in\n%q", tt.name, obeyed, text)
			}
		}
	}
	// A program gets every byte.
	if out := p.says("sessions", "export", "s"); !strings.Contains(out, "\u202e") ||
		!strings.Contains(out, fmt.Sprintf("%c", 0x9b)) {
		t.Errorf("the export is not what is in the log:\n%s", out)
	}
}
