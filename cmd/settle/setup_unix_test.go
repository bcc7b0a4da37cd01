//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// "settle" without a model asks for one, keeps it, and continues in the terminal with it. The next
// start asks nothing, and "settle setup" asks again.
func TestTerminalBeginsWithSetup(t *testing.T) {
	t.Parallel()
	const key = "sk-pasted-0123456789"
	p := newPlace(t)
	script := modeltest.Script(modeltest.Say("ready"), modeltest.Say("Hello there."))
	script.Rules.Keys = []string{key}
	server := modeltest.NewServer(t, script)
	p.env = append(p.env, "ANTHROPIC_BASE_URL="+server.Anthropic())

	cmd, keys, shot, state := openTerminal(t, p)
	shot.shows(t, "needs a key")
	typed(t, keys, "anthropic\r")
	shot.shows(t, "key for Anthropic?")
	typed(t, keys, "\r")
	shot.shows(t, "(it is not shown):")
	typed(t, keys, key+"\r")
	shot.shows(t, "› fake-model")
	typed(t, keys, "\r")
	shot.shows(t, "settle uses anthropic/fake-model")
	shot.shows(t, "asks before")
	typed(t, keys, "hi\r")
	shot.shows(t, "Hello there.")
	typed(t, keys, "\x04")
	exited(t, cmd, 0)
	shot.shows(t, "settle resume ")
	config := filepath.Join(filepath.Dir(p.work), "home", ".config", "settle")
	if info, err := os.Stat(filepath.Join(config, "keys", "anthropic.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file: %v, %v", info, err)
	}
	if strings.Contains(shot.String(), key) {
		t.Error("the key was shown")
	}
	shot.givesBack(t)
	want := state()

	cmd, keys, shot, state = openTerminal(t, p, "setup")
	shot.shows(t, "a key for Anthropic from")
	typed(t, keys, "\x03")
	exited(t, cmd, 2)
	shot.shows(t, "nothing was written")
	if got := state(); *got != *want {
		t.Errorf("the terminal is %+v, before %+v", got, want)
	}
}
