package transcript_test

import (
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
)

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
