package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Text returns a text whose control characters, except line ends and tabs, are replaced by
// pictures or numbers. It drops a carriage return before a line end. Bytes that are not
// UTF-8 become U+FFFD, because a terminal may read them as C1.
func Text(text string) string {
	if strings.IndexFunc(text, unsafeRune) < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for i, r := range text {
		switch {
		case r == '\r' && strings.HasPrefix(text[i+1:], "\n"):
		case r == utf8.RuneError, !Control(r): // invalid UTF-8 decodes to RuneError
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune(0x2400 + r)
		case r == 0x7f:
			b.WriteRune(0x2421)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// OneLine is Text on one line, with single spaces.
func OneLine(text string) string { return strings.Join(strings.Fields(Text(text)), " ") }

// Short is OneLine with at most limit characters; "…" replaces the rest.
func Short(text string, limit int) string {
	text = OneLine(text)
	if r := []rune(text); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return text
}

func unsafeRune(r rune) bool { return r == utf8.RuneError || Control(r) }

// Control reports whether a terminal may interpret a character instead of showing it, or
// not show it at all: C0 except line ends and tabs, DEL, C1, bidirectional marks (UAX 9),
// line separators, and invisible characters. Joiners do not count, because some scripts and
// emoji need them.
func Control(r rune) bool {
	if r < 0x7f {
		return r < 0x20 && r != '\n' && r != '\t'
	}
	return r < 0xa0 || r >= 0x061c && invisible(r)
}

func invisible(r rune) bool {
	switch {
	case r == 0x061c, r == 0x180e: // Arabic letter mark, Mongolian vowel separator
	case r == 0x200b, r == 0x200e, r == 0x200f: // zero width space, marks of direction
	case r >= 0x2028 && r <= 0x202e: // separators, embeddings, overrides
	case r >= 0x2060 && r <= 0x206f: // word joiner, invisible operators, isolates, deprecated
	case r == 0xfeff, r >= 0xfff9 && r <= 0xfffb: // byte order mark, annotations
	case r >= 0xe0000 && r <= 0xe007f: // tags
	default:
		return false
	}
	return true
}

// JSON returns JSON with the same meaning in which every such character is
// escaped. In valid JSON they only occur within strings, but for line ends and
// tabs.
func JSON(text string) string {
	if strings.IndexFunc(text, Control) < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		switch {
		case !Control(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default: // as two surrogates
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	return b.String()
}

// JSONWriter is a terminal that gets JSON, in pieces of any size.
type JSONWriter struct {
	To io.Writer

	rest []byte // the beginning of a character
}

// Write implements [io.Writer].
func (w *JSONWriter) Write(data []byte) (int, error) {
	all := append(w.rest, data...)
	cut := len(all)
	for i := max(0, cut-utf8.UTFMax+1); i < cut; i++ {
		if utf8.RuneStart(all[i]) && !utf8.FullRune(all[i:]) {
			cut = i
		}
	}
	_, err := io.WriteString(w.To, JSON(string(all[:cut])))
	w.rest = append(w.rest[:0:0], all[cut:]...)
	if err != nil {
		return 0, err
	}
	return len(data), nil
}
