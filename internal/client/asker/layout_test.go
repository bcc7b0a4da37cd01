package asker_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/client/asker"
)

// A row into which a line continues never begins where settle's own rows begin, nor left of the line.
func TestFoldIndentsContinuedRows(t *testing.T) {
	words := strings.Repeat("in: /safe  Asked because it only reads ", 9)
	for _, indent := range []int{0, 2, 6, 20} {
		line := strings.Repeat(" ", indent) + words
		for width := 28; width < 200; width++ {
			rows := strings.Split(asker.Fold(line, width), "\n")
			for n, row := range rows {
				begins := len(row) - len(strings.TrimLeft(row, " "))
				if n == 0 && begins != indent || n > 0 && begins < max(indent, 8) || len(row) > width {
					t.Fatalf("indent %d, width %d, row %d of %d: %q", indent, width, n+1, len(rows), row)
				}
			}
		}
		if got := asker.Fold(line, 0); got != line {
			t.Errorf("a text for programs is broken: %q", got)
		}
	}
}
