//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/modeltest"
)

// The page and every other client of settle serve may call the commands of the
// directory.
func TestServeTakesCommands(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := filepath.Join(p.work, ".claude", "commands", "review.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("Review $1 with care."), 0o600); err != nil {
		t.Fatal(err)
	}
	v := p.serve(modeltest.NewServer(t, modeltest.Script(modeltest.Say("Done."))))
	session := "api/sessions/" + v.call("POST", "api/sessions", "", 201)["id"].(string)
	v.call("POST", session+"/inputs", `{"text":"/review it"}`, 202)
	all := v.follow(session, 0, event.Event.Terminal)
	said := ""
	for _, e := range all {
		if in, ok := e.Data.(event.InputAccepted); ok {
			said = in.Text
		}
	}
	if !strings.HasPrefix(said, "Review it with care.") {
		t.Errorf("the input is %q", said)
	}
	signalled(t, v.cmd, syscall.SIGTERM)
	v.exits(0)
}
