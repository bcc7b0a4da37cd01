package terminal_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/terminal"
)

func TestLastLines(t *testing.T) {
	lines := terminal.LastLines("one\r\n\n  \ntwo\n10%\r20%\rdone\nlast", 3)
	if diff := cmp.Diff([]string{"two", "done", "last"}, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if lines := terminal.LastLines("", 3); len(lines) != 0 {
		t.Errorf("of nothing: %q", lines)
	}
}

func TestBothEnds(t *testing.T) {
	for output, want := range map[string][3]any{
		"":                    {[]string(nil), 0, []string(nil)},
		"1\n2\n\n3\n4":        {[]string{"1", "2", "3", "4"}, 0, []string(nil)}, // room for the count has room for 4
		"1\r\n2\n3\n4\n\n5\n": {[]string{"1"}, 2, []string{"4", "5"}},
	} {
		first, left, last := terminal.BothEnds(output, 1, 2)
		if diff := cmp.Diff(want, [3]any{first, left, last}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", output, diff)
		}
	}
}

// A text that grows without end is cut between characters, and keeps its end.
func TestTail(t *testing.T) {
	output := ""
	for range 10_000 {
		output = terminal.Tail(output + "語é.")
		if len(output) > 5<<10 || !utf8.ValidString(output) || !strings.HasSuffix(output, "語é.") {
			t.Fatalf("%d bytes: %q", len(output), output)
		}
	}
}
