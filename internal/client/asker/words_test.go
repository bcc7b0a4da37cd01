package asker_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
)

// A question about a file names the file in the call. A reason or a scope that only repeats the name is
// left out or shortened.
func TestQuestionNamesFileOnce(t *testing.T) {
	for _, tc := range []struct{ tool, text, why, covers, want string }{
		{
			"write", "write\n  create a.txt:", "it writes a.txt", "every later change of a.txt",
			"write\n  create a.txt:\n\nAllowing it for the session also allows every later change of this file.",
		},
		{
			"edit", "edit\n  update .git/config:", "it writes .git/config, which git obeys",
			"the same call, to the letter",
			"edit\n  update .git/config:\n\nAsked because it writes .git/config, which git obeys\n\n" +
				"Allowing it for the session also allows the same call, to the letter.",
		},
		{
			"write", "write\n  create a/b:\n  leads to: a -> c", "it writes a/b -> c/b",
			"every later change of a/b -> c/b",
			"write\n  create a/b:\n  leads to: a -> c\n\nAsked because it writes a/b -> c/b\n\n" +
				"Allowing it for the session also allows every later change of a/b -> c/b.",
		},
		{"edit", "edit\n  update a:\n      +a", "it writes a", "", "edit\n  update a:\n      +a"},
		{
			"edit", "edit\n  update b:\n      --- a/b\n      +create a:", "it writes a", "every later change of a",
			"edit\n  update b:\n      --- a/b\n      +create a:\n\nAsked because it writes a\n\n" +
				"Allowing it for the session also allows every later change of a.",
		},
		{
			"apply_patch", "apply_patch\n  update a:\n      +x\n  create b:\n      +y", "it writes a", "",
			"apply_patch\n  update a:\n      +x\n  create b:\n      +y\n\nAsked because it writes a",
		},
		{"x", "x\n  path: a.txt", "it writes a.txt", "", "x\n  path: a.txt\n\nAsked because it writes a.txt"},
		{"shell", "shell", "the policy is ask", "", "shell\n\nAsked because the policy is ask"},
		{"write", "write", "", "", "write"},
	} {
		got := asker.Words(event.ApprovalRequested{Tool: tc.tool, Text: tc.text, Why: tc.why, Covers: tc.covers})
		if got != tc.want {
			t.Errorf("%s: %q, want %q", tc.why, got, tc.want)
		}
	}
}

// A question states the scope of an approval for the session; if that covers no other call, it
// states that and does not offer the approval.
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
