package session_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
)

// C16: if no person can be asked, the policy answers, and the log and the model receive its
// name.
func TestPolicyAnswersUnattendedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := attended(t, look())
		b.submit("a", "")
		synctest.Wait()
		given := approval.Answer{
			Approval: "p000001",
			Verdict:  event.Denied,
			Policy:   "ask",
			Message:  "no person can be asked",
			By:       "a client",
		}
		if err := b.Answer(t.Context(), given); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		turn := b.state().Turns[0]
		if ended := turn.Approvals[0].Ended; ended == nil || ended.Policy != "ask" || ended.Verdict != event.Denied {
			t.Errorf("the approval ended with %+v", ended)
		}
		if out := turn.Items[0].Content().Output; !strings.Contains(out, "no person can be asked") ||
			strings.Contains(out, "user") ||
			!strings.Contains(out, "it could change something") {
			t.Errorf("the model is told %q", out)
		}
	})
}
