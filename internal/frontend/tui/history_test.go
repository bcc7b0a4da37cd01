package tui

import (
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle/model/script"
)

// Earlier prompts replace the editor's text, and the way back has all that was typed.
func TestHistoryKeepsTypedText(t *testing.T) {
	const up, down = "\x1b[A", "\x1b[B"
	for _, c := range []struct{ keys, sees string }{
		{"bbb" + up + "\x03ccc" + up, "> two"},
		{"bbb" + up + "\x03ccc" + up + down, "> ccc"},
		{"bbb" + up + "x" + up + down, "> twox"},
		{"bbb" + up + "x" + up + down + down, "> bbb"},
		{"bbb\x12one\r" + down + down, "> bbb"},
		{"bbb" + up + "x\x12two\r", "> two"},
		{"1\\\r2\\\r3\\\r4\\\r5\\\r6\\\r7" + "\x1b[H" + up + up + up + up + up + up + up + down, "  7"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, code := newPerson(t, Options{}, script.Turn(script.Text("a")), script.Turn(script.Text("b")))
			p.types("one\r")
			p.types("two\r")
			p.types(c.keys)
			p.sees(c.sees)
			p.types("\x03\x04")
			p.left(code, 0)
		})
	}
}
