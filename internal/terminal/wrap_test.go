package terminal_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/terminal"
)

func TestWrapKeepsUnits(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  []string
	}{
		{"exit code 1, 442 ms", 17, []string{"exit code 1,", "442 ms"}},
		{"it failed: exit code 1, 442 ms", 24, []string{"it failed: exit code 1,", "442 ms"}},
		{"it failed: exit code 1, 442 ms", 20, []string{"it failed:", "exit code 1, 442 ms"}},
		{"exit code 1, 442 ms", 16, []string{"exit code 1,", "442 ms"}},
		{"took 9.5 s today", 8, []string{"took", "9.5 s", "today"}},
		{"read 12 kB, 3 more", 13, []string{"read 12 kB, 3", "more"}},
		{"step 12 starts", 9, []string{"step 12", "starts"}}, // not a unit
		{"1234 ms", 5, []string{"1234", "ms"}},               // no room
	} {
		var got []string
		for _, row := range terminal.Wrap(terminal.Plain(tt.text, terminal.Style{}), tt.width, terminal.Indent{}) {
			got = append(got, row.Text())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q at %d (-want +got):\n%s", tt.text, tt.width, diff)
		}
	}
}
