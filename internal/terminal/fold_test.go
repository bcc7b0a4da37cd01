package terminal

import (
	"bytes"
	"testing"
)

// Long lines break between words, and rows of a table continue below their last column.
func TestFoldBreaksBetweenWords(t *testing.T) {
	text := "short\nsome words that are too long for one row of them\n" +
		"  -f, --flag FILE   read all of the words from FILE\n"
	want := "short\nsome words that are too long for one row of\nthem\n" +
		"  -f, --flag FILE   read all of the words from\n                    FILE\n"
	if got := Fold(text, 46); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Fold(text, 0); got != text {
		t.Errorf("without a terminal: %q", got)
	}
	if got := Columns(&bytes.Buffer{}); got != 0 {
		t.Errorf("a buffer has %d columns", got)
	}
}
