//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/modeltest"
)

// A server's form is filled in at the terminal, in each of its three ways.
func TestFormsAtTheTerminal(t *testing.T) {
	asks := func(t *testing.T) (*place, string) {
		p := newPlace(t)
		home := t.TempDir()
		clienttest.Inquirer(t, home)
		p.env = append(p.env, "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"))
		return p, modeltest.NewServer(t, modeltest.Script(modeltest.Reply(modeltest.Call("tool_call", clienttest.Inquire)), modeltest.Say("All done."))).
			OpenAI()
	}
	t.Run("drawn", func(t *testing.T) {
		t.Parallel()
		p, url := asks(t)
		cmd, keys, shot, _ := openTerminal(t, p, "-m", "chat/m", "--base-url", url, "go on")
		shot.shows(t, "db asks for input")
		looks := 0
		shot.waits(t, "the field", func(all string) bool { // keys that come too early mean nothing
			if looks++; looks%50 == 1 {
				typed(t, keys, "\x1by")
			}
			return strings.Contains(all, "Enter takes it")
		})
		typed(t, keys, "users\r")
		shot.shows(t, `"name":"users"`)
		shot.shows(t, "All done.")
		shot.shows(t, "✓ ")
		typed(t, keys, "\x04")
		exited(t, cmd, 0)
	})
	t.Run("plain", func(t *testing.T) {
		t.Parallel()
		p, url := asks(t)
		cmd, keys, shot, _ := openTerminal(t, p, "--plain", "-m", "chat/m", "--base-url", url)
		shot.shows(t, "/help lists commands.")
		typed(t, keys, "go\n")
		shot.shows(t, "1 fill it in (y)")
		typed(t, keys, "1\n")
		shot.shows(t, "name: string")
		typed(t, keys, "users\n")
		shot.shows(t, "All done.")
		shot.shows(t, "Turn:")
		typed(t, keys, "/quit\n")
		exited(t, cmd, 0)
		if !strings.Contains(shot.String(), `"name":"users"`) {
			t.Errorf("the server was not given the name: %q", shot.String())
		}
	})
	t.Run("run", func(t *testing.T) {
		t.Parallel()
		p, url := asks(t)
		cmd, keys, shot, _ := openTerminal(t, p, "run", "-v", "-m", "chat/m", "--base-url", url, "go")
		shot.shows(t, "1 fill it in (y)")
		typed(t, keys, "y\n")
		shot.shows(t, "name: string > ")
		typed(t, keys, "users\n")
		shot.shows(t, " PROMPT")
		exited(t, cmd, 0)
		_, after, _ := strings.Cut(shot.String(), "--resume ")
		id, _, _ := strings.Cut(after, " ")
		if log := p.says("sessions", "export", id); !strings.Contains(log, "users") {
			t.Errorf("the server was not given the name: %s", log)
		}
	})
}
