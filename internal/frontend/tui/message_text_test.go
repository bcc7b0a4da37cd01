package tui

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

// A long message that arrives at once becomes entries frame by frame, the same entries as for its
// blocks.
func TestLongMessageIsFilledByFrames(t *testing.T) {
	text := strings.Repeat("é some words\n\nand others\n\n```go\nx := 1\n```\n\n", 5*maxEntries)
	p := newPrintout(keymap.Map{})
	p.pieces = []*piece{{item: "i", kind: event.Message, rest: []string{text}, ends: true}}
	p.fill()
	var got []entry
	frames := 0
	for ; len(p.pieces) > 0; frames++ {
		if n := p.waiting(); n > 2*maxEntries {
			t.Fatalf("%d entries wait for a frame", n)
		}
		got = append(got, p.finished()...)
		p.budget = maxEntries
		p.fill()
	}
	want := blocksOf(text)
	if len(got) != len(want) || frames < len(want)/(2*maxEntries) {
		t.Fatalf("%d entries in %d frames, want %d", len(got), frames, len(want))
	}
	for n, e := range got {
		if e.text != want[n].Text || e.gap != want[n].First {
			t.Fatalf("entry %d is %q, want %q", n, e.text, want[n].Text)
		}
	}
}
