package terminal_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/terminal"
)

func TestLastLines(t *testing.T) {
	lines, more := terminal.LastLines("one\r\n\n  \ntwo\n10%\r20%\rdone\nlast", 3)
	if diff := cmp.Diff([]string{"two", "done", "last"}, lines); diff != "" || more != 1 {
		t.Errorf("%d more (-want +got):\n%s", more, diff)
	}
	if lines, more := terminal.LastLines("", 3); len(lines) != 0 || more != 0 {
		t.Errorf("of nothing: %q, %d more", lines, more)
	}
}

// What grows without end is cut between characters, and keeps its end.
func TestTail(t *testing.T) {
	output := ""
	for range 10_000 {
		output = terminal.Tail(output + "語é.")
		if len(output) > 5<<10 || !utf8.ValidString(output) || !strings.HasSuffix(output, "語é.") {
			t.Fatalf("%d bytes: %q", len(output), output)
		}
	}
}
