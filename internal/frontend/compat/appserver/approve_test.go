package appserver

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/asker"
)

// The request about a command that can be allowed only once lists the decisions, without
// acceptForSession. Else the client offers all.
func TestDecisionsOfSingleCall(t *testing.T) {
	l := loadedThread{opened: &assemble.Opened{Session: &settle.Session{}}, translator: newEventLog(t).tr}
	for once, want := range map[bool]any{true: []string{"accept", "decline", "cancel"}, false: nil} {
		_, params := l.question(asker.Question{ApprovalRequested: event.ApprovalRequested{Once: once}})
		if diff := cmp.Diff(want, params["availableDecisions"]); diff != "" {
			t.Errorf("once %t (-want +got):\n%s", once, diff)
		}
	}
}
