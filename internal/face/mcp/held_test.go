package mcp_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/model/script"
)

// A reply waits for a process that is about to release the session.
func TestReplyWaitsForTheHolder(t *testing.T) {
	b := start(t, "", script.Text("one"), script.Text("two"))
	b.hosts.HeldTimeout = time.Minute
	b.initialize()
	b.call(1, "run", map[string]any{"prompt": "first"})
	session := b.outcome(1).Session
	if err := b.hosts.Close(t.Context(), session, event.Shutdown, "test"); err != nil {
		t.Fatal(err)
	}
	settings := b.hosts.Settings
	r, err := settings(b.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	held, _, err := journal.Open(t.Context(), journal.Options{Dir: r.DataDir, Session: session})
	if err != nil {
		t.Fatal(err)
	}
	var attempts atomic.Int32
	b.hosts.Settings = func(dir string, given map[string]string) (*config.Resolved, error) {
		if attempts.Add(1) == 5 { // each attempt asks more than once: it was refused by now
			_ = held.Close(context.Background())
		}
		return settings(dir, given)
	}
	b.call(2, "reply", map[string]any{"session": session, "prompt": "second"})
	if out := b.outcome(2); out.Answer != "two" {
		t.Errorf("the reply was answered %+v", out)
	}
	_ = held.Close(t.Context())
}
