package tui

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/terminaltest"
	"github.com/settle-agent/settle/model/script"
)

// A template defines the row; empty parts are left out, and parts without room are dropped from the
// end.
func TestStatusTemplate(t *testing.T) {
	for _, c := range []struct {
		template string
		width    int
		want     string
	}{
		{"{model} · {effort} · in {directory}", 80, "chat/m · in ~/work/project"},
		{"{model} · in {directory}", 20, "chat/m"},
		{"settle {{x}} {model} [{cost}]", 80, "settle {x} chat/m []"},
		{"{permission} · {jobs} · {tokens} · {activity}", 80, "asks before changes"},
		{"only words", 80, "only words"},
	} {
		s := newStage(terminaltest.NewGrid(c.width, 24), terminal.ReflowAll, c.width, 24)
		s.StatusLine, s.Place = c.template, "~/work/project"
		if got := s.status(c.width, time.Now())[0].Text(); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.template, c.width, got, c.want)
		}
	}
}

// The command runs beside the loop when its input has changed; its first line is the row. The end
// waits for a run in progress.
func TestStatusCommandRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards the fields below
		var told []map[string]any
		ended := 0
		run := func(ctx context.Context, input []byte) (string, error) {
			var in map[string]any
			if err := json.Unmarshal(input, &in); err != nil {
				return "", err
			}
			mu.Lock()
			told = append(told, in)
			mu.Unlock()
			if in["permission_mode"] == "ask" && in["activity"] == "working" {
				<-ctx.Done() // as long as the session
				mu.Lock()
				defer mu.Unlock()
				ended++
				return "", context.Cause(ctx)
			}
			id := in["model"].(map[string]any)["id"]
			return fmt.Sprintf("\n\x1b[31m%s\x1b[0m is %s\nsecond", id, in["activity"]), nil
		}
		p, code := newPerson(t, Options{StatusCommand: run}, script.Turn(script.Text("Some words"), script.Stall()))
		p.sees("script/m is idle")
		p.misses("second", "asks before changes")
		p.types("go\r") // the run of now does not end: keys and rows come all the same
		p.sees("Some words", "script/m is idle", "working")
		p.types("\x04")
		p.left(code, 0)
		mu.Lock()
		defer mu.Unlock()
		if ended != 1 || len(told) != 2 {
			t.Errorf("%d runs, of which %d were ended: %v", len(told), ended, told)
		}
		if got := told[0]["workspace"].(map[string]any)["current_dir"]; got != "/w" {
			t.Errorf("the directory is %v", got)
		}
	})
}

func TestStatusCommandFailureIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := func(context.Context, []byte) (string, error) {
			return "", fmt.Errorf("code 3: %s", strings.Repeat("x", 9))
		}
		p, code := newPerson(t, Options{StatusCommand: run})
		p.sees("cannot run terminal.status_command: code 3: xxxxxxxxx", "script/m", "asks before changes")
		p.types("\x04")
		p.left(code, 0)
	})
}
