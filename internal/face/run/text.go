package run

import (
	"unicode/utf8"

	"github.com/settle-agent/settle/internal/printable"
)

// oneLine makes a text one printable line of at most so many characters.
func oneLine(text string, most int) string {
	text = printable.Line(text)
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
