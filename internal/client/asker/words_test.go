package asker_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
)

// A question says what an approval for the session covers; if that is no other call, it says so
// without offering one.
func TestWordsOfScope(t *testing.T) {
	for _, c := range []struct {
		once         bool
		covers, want string
	}{
		{false, "the same call", "Allowing it for the session also allows the same call."},
		{true, "no other call: because", "An approval covers no other call: because."},
	} {
		request := event.ApprovalRequested{Text: "shell", Covers: c.covers, Once: c.once}
		if got := asker.Words(request); !strings.HasSuffix(got, "\n\n"+c.want) {
			t.Errorf("%q", got)
		}
	}
}
