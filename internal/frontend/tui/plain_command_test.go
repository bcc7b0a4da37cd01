package tui

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle/model/script"
)

// Commands work in plain mode; a mistyped one is no prompt, unless a space precedes it.
func TestPlainCommands(t *testing.T) {
	own := commandsIn(t, "check.md", "Look at $1.")
	for lines, want := range map[string][]string{
		"/permissions read-only": {"The permission is read-only: refuses changes."},
		"/permissions":           {"The permission is ask: asks before changes."},
		"/model b/two":           {"The model of the next turn is b/two."},
		"/effort high":           {"The effort of the next turn is high."},
		"/permission allow": {
			"Not sent: There is no command /permission; did you mean \"/permissions\"? Commands: /stop, /quit",
		},
		"/rewind": {
			"Not sent: The command /rewind is not available in plain mode; in a shell, settle rewind goes back to",
		},
		"/todos":          {"Not sent: The command /todos is not available in plain mode. Commands: /stop"},
		"/agents":         {"not available in plain mode; in a shell, settle agents lists the kinds"},
		"/subagents":      {"not available in plain mode; in a shell, settle agents lists the kinds"},
		"/usage":          {"not available in plain mode; in a shell, settle usage sums all sessions"},
		"/plugins":        {"not available in plain mode; in a shell, settle plugins lists them. Commands: /stop"},
		"/decline":        {"No question waits."},
		"/exit":           {"settle with"},
		"/approvals":      {"The permission is ask: asks before changes."},
		"/clear":          {"Not sent: The command /clear is not available in plain mode; in a shell, settle begins"},
		"/mcp":            {"Not sent: There is no /mcp here: in a shell, settle mcp-servers lists"},
		"/memory":         {"Not sent: There is no command /memory. Commands: /stop"},
		"/help":           {"/permissions MODE: chooses", "accept-edits, review, read-only"},
		"/init panics":    {"Not sent: /init takes no words. A space before the slash sends"},
		"/review the fix": {"Not sent: /review takes at most one word: a range"},
		"/review HEAD~1":  {"I will."},
		" /init panics":   {"I will."},
		" /rewind it":     {"I will."},
		"/check it":       {"I will."},
		"/tmp/x is what?": {"I will."},
		"/quit":           {"settle with"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out strings.Builder
			host, o := plainHost(t, &rich{}, script.Turn(script.Text("I will.")))
			o.Commands = own
			code, err := RunPlain(t.Context(), &typedLines{lines: lines + "\n"}, &out, 80, o)
			if code != 0 || err != nil {
				t.Errorf("%q: exit code %d, %v", lines, code, err)
			}
			if err := host.Close(t.Context()); err != nil {
				t.Error(err)
			}
			sent := strings.Contains(out.String(), "I will.")
			for _, text := range want {
				if !strings.Contains(out.String(), text) || sent != (text == "I will.") {
					t.Errorf("%q has no %q:\n%s", lines, text, out.String())
				}
			}
		})
	}
}

// typedLines is input that ends once everything else waits.
type typedLines struct{ lines string }

func (r *typedLines) Read(b []byte) (int, error) {
	synctest.Wait()
	n := copy(b, r.lines)
	if r.lines = r.lines[n:]; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}
