package sessions_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/frontend/sessions"
)

// A verdict whose turn ended before the call began is named.
func TestShowHeldCallNamesLostVerdict(t *testing.T) {
	h := store.HeldCall{HeldCall: event.HeldCall{
		Turn: &event.Turn{Cause: &event.Cause{Outcome: event.Aborted, Reason: event.Crashed}}, Approval: &event.Approval{},
		Lost: &event.Input{},
	}}
	h.Lost.By, h.Lost.HeldCall = "user", &event.HeldVerdict{Verdict: event.Approved}
	var b strings.Builder
	err := sessions.ShowHeldCall(&b, h)
	if err != nil || !strings.Contains(b.String(), "it was approved before by user, but") {
		t.Errorf("%s, %v", &b, err)
	}
}
