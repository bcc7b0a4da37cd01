package transcript_test

import (
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// A question that a hook changed the call for, or that the person changed it with, is about that call.
func TestApprovalArguments(t *testing.T) {
	i := &event.Item{ID: "i1"}
	turn := &event.Turn{Items: []*event.Item{i}}
	asks := &event.Approval{Call: "i1"}
	if got := transcript.ApprovalArguments(turn, i, asks); got != "" {
		t.Errorf("the model's are %q", got)
	}
	turn.Hooks = []*event.Hook{
		{Item: "i1", Ended: &event.HookEnded{Arguments: "hook"}},
		{Item: "i1", Ended: &event.HookEnded{}},
		{Item: "i2", Ended: &event.HookEnded{Arguments: "other call"}},
		{Item: "i1"},
	}
	if got := transcript.ApprovalArguments(turn, i, asks); got != "hook" {
		t.Errorf("the hook's are %q", got)
	}
	asks.Ended = &event.ApprovalEnded{Verdict: event.Approved, Arguments: "person"}
	if got := transcript.ApprovalArguments(turn, i, asks); got != "person" {
		t.Errorf("the person's are %q", got)
	}
}

func TestDenial(t *testing.T) {
	denied := func(message string) *event.Approval {
		return &event.Approval{Ended: &event.ApprovalEnded{Verdict: event.Denied, Message: message}}
	}
	for _, tt := range []struct {
		item event.Item
		want string
	}{
		{event.Item{Status: event.ItemFailed}, " "},
		{event.Item{Status: event.ItemFailed, Denial: denied("")}, "denied "},
		{event.Item{Status: event.ItemAborted, Denial: denied("")}, " "}, // its turn ended first
		{event.Item{Status: event.ItemFailed, Denial: denied("use git")}, "denied Message to the model: use git"},
		{
			event.Item{Status: event.ItemFailed, Denial: &event.Approval{
				Ended: &event.ApprovalEnded{Verdict: event.Denied, Message: "Explain it.", Explain: true},
			}},
			"denied The model explains the effects first.",
		},
	} {
		if how, why := transcript.Denial(&tt.item); how+" "+why != tt.want {
			t.Errorf("%q %q, want %q", how, why, tt.want)
		}
	}
}
