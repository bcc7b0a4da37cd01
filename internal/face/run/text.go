package run

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Printable makes a text harmless for a terminal: what a model or a tool says
// must not move the cursor, set a title or answer for the user. Control
// characters, but for line ends and tabs, become their pictures; a carriage
// return before a line end is dropped.
func Printable(text string) string {
	if strings.IndexFunc(text, isControl) < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for i, r := range text {
		switch {
		case !isControl(r):
			b.WriteRune(r)
		case r == '\r' && strings.HasPrefix(text[i+1:], "\n"):
		case r < 0x20:
			b.WriteRune(0x2400 + r)
		case r == 0x7f:
			b.WriteRune(0x2421)
		default:
			fmt.Fprintf(&b, `\x%02x`, r)
		}
	}
	return b.String()
}

// isControl tells control characters from text: C0 but for line ends and tabs,
// DEL, C1, and bytes that are no UTF-8, which some terminals take for C1.
func isControl(r rune) bool {
	return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0
}

// oneLine makes a text one printable line of at most so many characters.
func oneLine(text string, most int) string {
	text = strings.Join(strings.Fields(Printable(strings.ToValidUTF8(text, "\uFFFD"))), " ")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// Duration writes a duration as people do.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + " s"
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	words := d.Round(time.Second).String()
	if strings.HasSuffix(words, "m0s") {
		words = strings.TrimSuffix(words, "0s")
	}
	if strings.HasSuffix(words, "h0m") {
		words = strings.TrimSuffix(words, "0m")
	}
	return words
}
