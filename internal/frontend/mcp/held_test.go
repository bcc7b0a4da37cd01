package mcp_test

import (
	"context"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/model/script"
)

// A reply waits for a process that is about to release the session.
func TestReplyWaitsForTheHolder(t *testing.T) {
	b := start(t, "", script.Text("one"), script.Text("two"))
	b.hosts.LockTimeout = time.Minute
	b.initialize()
	b.call(1, "run", map[string]any{"prompt": "first"})
	session := b.outcome(1).Session
	if err := b.hosts.Close(t.Context(), session, event.Shutdown, "test"); err != nil {
		t.Fatal(err)
	}
	r, err := b.hosts.Settings(b.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	held, _, err := journal.Open(t.Context(), journal.Options{Dir: r.DataDir, Session: session})
	if err != nil {
		t.Fatal(err)
	}
	b.call(2, "reply", map[string]any{"session": session, "prompt": "second"})
	time.AfterFunc(
		200*time.Millisecond,
		func() { _ = held.Close(context.Background()) },
	) // it was refused by then, most likely
	if out := b.outcome(2); out.Answer != "two" {
		t.Errorf("the reply was answered %+v", out)
	}
	_ = held.Close(t.Context())
}
