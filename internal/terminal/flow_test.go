package terminal

import (
	"strings"
	"testing"
)

func TestFlow(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
	}{
		{"words", "one two three four five six", "one two three\nfour five six"},
		{"lines", "one two\n\n  three four five\n", "one two\n\n  three four\n  five\n"},
		{"list", "- one two three four\n10. five six seven", "- one two\n  three four\n10. five six\n    seven"},
		{"long word", "see https://example.org/a/b now", "see https://example.org/a/b\nnow"},
		{
			"fenced code", "```\none two three four five\n```\none two three four",
			"```\none two three four five\n```\none two three\nfour",
		},
		{"table", "| one two three | four five |", "| one two three | four five |"},
		{"wide", "語語語語語語語語 語", "語語語語語語語\n語 語"},
		{"combining", "e\u0301e\u0301e\u0301 twotwotwo three", "e\u0301e\u0301e\u0301 twotwotwo\nthree"},
		{"tab", "one\ttwo three", "one\ttwo\nthree"},
	} {
		for size := 1; size <= len(c.text); size++ {
			f, got := Flow{Width: 14}, ""
			for rest := c.text; rest != ""; {
				n := min(size, len(rest))
				for n < len(rest) && rest[n]&0xc0 == 0x80 {
					n++
				}
				got, rest = got+f.Add(rest[:n]), rest[n:]
			}
			if got += f.End(); got != c.want {
				t.Fatalf("%s, in pieces of %d: %q, want %q", c.name, size, got, c.want)
			}
		}
	}
}

// Nothing is lost but the spaces at breaks, at any width; rows of short words fit.
func TestFlowKeepsText(t *testing.T) {
	text := strings.Repeat("a bb ccc - dddd 語 | ``` e\n  - f g\n", 20)
	for width := range 60 {
		f := Flow{Width: width}
		out := f.Add(text) + f.End()
		if got := strings.Join(strings.Fields(out), ""); got != strings.Join(strings.Fields(text), "") {
			t.Fatalf("at %d columns, the text has become %q", width, out)
		}
		for row := range strings.SplitSeq(out, "\n") {
			if width > 6 && TextWidth(row) > width {
				t.Fatalf("at %d columns: %q", width, row)
			}
		}
	}
	if f := (Flow{}); f.Add(text) != text || f.End() != "" {
		t.Error("without a width, the text changes")
	}
}
