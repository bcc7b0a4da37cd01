package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// within is a command that runs settle in a shell.
func (p *place) within(script string, args ...string) *exec.Cmd {
	p.t.Helper()
	cmd := p.command(args...)
	shell := exec.CommandContext(p.ctx, "sh", append([]string{"-c", script}, cmd.Args...)...)
	shell.Dir, shell.Env = cmd.Dir, cmd.Env
	return shell
}

// Ctrl-Z gives the terminal back to the shell, and "fg" takes it over again.
func TestTUISuspend(t *testing.T) {
	t.Parallel()
	inBothHosts(t, func(t *testing.T, p *place) {
		t.Helper()
		server := modeltest.NewServer(
			t, modeltest.Script(modeltest.Say("First answer."), modeltest.Say("Second answer.")),
		)
		cmd := p.within(
			`set -m; "$0" "$@"; echo "it is stopped"; read line; fg >/dev/null; echo "it ended with $?"`,
			"-m", "chat/m", "--base-url", server.OpenAI(), "say it",
		)
		keys, shot, state := startTerminal(t, cmd)
		before := shot.before
		shot.shows(t, "First answer.")
		shot.shows(t, "✓ ")
		typed(t, keys, "half a prompt\x1a")
		shot.shows(t, "it is stopped")
		if got := state(); *got != *before {
			t.Errorf("stopped, the terminal is %+v, before %+v", got, before)
		}
		shot.givesBack(t)
		typed(t, keys, "\n")
		shot.waits(t, "the prompt again", func(all string) bool {
			_, after, _ := strings.Cut(all, "it is stopped")
			return strings.Contains(after, "half a prompt")
		})
		typed(t, keys, "\x15say more\r")
		shot.shows(t, "Second answer.")
		typed(t, keys, "\x04")
		shot.shows(t, "it ended with 0")
		exited(t, cmd, 0)
		if got := state(); *got != *before {
			t.Errorf("the terminal is %+v, before %+v", got, before)
		}
		shot.givesBack(t)
	})
}

// The death of the parent ends everything, and gives the terminal back, also from
// the pager.
func TestTUIParentIsKilled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(stubborn("fifo", "93.25")))
	awake := p.fifo("fifo")
	// Another shell leads the session, so that it does not end with the parent.
	cmd := p.within(
		`sh -c 'echo $$ > parent; "$0" "$@"; :' "$0" "$@"; read line`, "-m", "chat/m", "--base-url", server.OpenAI(),
		"--permission", "allow", "go on",
	)
	keys, shot, state := startTerminal(t, cmd)
	before := shot.before
	awake()
	typed(t, keys, "\x14")
	shot.shows(t, "\x1b[?1049h")
	raw, err := os.ReadFile(filepath.Join(p.work, "parent"))
	if err != nil {
		t.Fatal(err)
	}
	parent, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(parent, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	shot.shows(t, "settle resume ")
	shot.shows(t, "settle was shut down")
	shot.waits(t, "the terminal as it was", func(string) bool { return *state() == *before })
	shot.givesBack(t)
	shot.waits(t, "the end of what ran", func(string) bool { return len(processes("sleep 93.25")) == 0 })
	typed(t, keys, "\n")
	exited(t, cmd, 0)
}
