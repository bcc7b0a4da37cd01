package run

import (
	"strings"
	"unicode/utf8"

	"github.com/settle-agent/settle/internal/printable"
)

// Screen is the terminal at standard error, where it can be drawn on.
type Screen struct {
	// Color says that it may be colored.
	Color bool
	// Width returns how many columns it has now, 0 if that is unknown.
	Width func() int
}

// paint is how something is shown.
type paint string

// The paints: parameters of SGR (ECMA-48).
const (
	faint  paint = "2"
	bold   paint = "1"
	red    paint = "31"
	green  paint = "32"
	yellow paint = "33"
	cyan   paint = "36"
)

// paint returns the text in a paint, where the terminal has colors.
func (s *Screen) paint(p paint, text string) string {
	if s == nil || !s.Color || text == "" {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}

// fallbackWidth is taken for a terminal that does not say.
const fallbackWidth = 80

// fit makes a text one line that surely fits, with so many columns to spare: a
// line that wraps could not be taken back.
func (s *Screen) fit(text string, spare int) string {
	width := fallbackWidth
	if s.Width != nil && s.Width() > 0 {
		width = s.Width()
	}
	width = max(width-1-spare, 1)
	text = printable.Line(text)
	if len(text) <= width {
		return text
	}
	used := 0
	for i, r := range text {
		if used += columns(r); used > width-1 {
			return text[:i] + "…"
		}
	}
	return text
}

// columns is the most that a terminal may use for a character.
func columns(r rune) int {
	if r < 0x1100 {
		return 1
	}
	return 2
}

// mostTail is how many bytes of a command's output are kept to show its end.
const mostTail = 2 << 10

// appendTail keeps the end of an output.
func appendTail(tail, more string) string {
	tail += more
	if len(tail) <= mostTail {
		return tail
	}
	tail = tail[len(tail)-mostTail:]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return tail
}

// lastLines returns the last lines of a text that are not empty. Of a line that
// a program has written anew, as for a progress bar, it is the last version.
func lastLines(text string, most int) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		line = strings.TrimRight(line, "\r")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(len(lines)-most, 0):]
}
