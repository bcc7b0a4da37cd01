package assemble

import (
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
)

// A session opens its worktree with the base that the last host in the worktree recorded, also
// if a later host worked elsewhere.
func TestRecordedWorktreeIsThatOfItsLastHost(t *testing.T) {
	dir := t.TempDir()
	for _, w := range []*event.Worktree{
		{Path: "/trees/s", From: "/work", Base: "first"},
		{Path: "/trees/s", From: "/work", Base: "second"},
		{Path: "/trees/other", From: "/work", Base: "other"},
		nil,
	} {
		l, _, err := journal.Open(t.Context(), journal.Options{Dir: dir, Session: "s"})
		if err != nil {
			t.Fatal(err)
		}
		err = l.Update(func(event.State) []event.Event {
			return []event.Event{{Data: event.SessionOpened{Dir: "/work", Worktree: w}}, {Data: event.SessionClosed{}}}
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if w := RecordedWorktree(dir, "s"); w == nil || w.Base != "second" {
		t.Errorf("%+v", w)
	}
	if w := RecordedWorktree(dir, "none"); w != nil {
		t.Errorf("of no session: %+v", w)
	}
}
