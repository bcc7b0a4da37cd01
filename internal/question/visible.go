package question

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible returns the text with every character spelled out, as ⟨U+202E⟩, that is invisible or
// reorders other text. Line feeds and tabs stay.
func Visible(text string) string {
	if !strings.ContainsFunc(text, isHidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isHidden(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Line is [Visible] for text that must stay on its line.
func Line(text string) string {
	return strings.ReplaceAll(Visible(text), "\n", "⟨U+000A⟩")
}

// isHidden reports whether a character is spelled out, including the bracket that begins a
// spelled-out character.
func isHidden(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r == '⟨':
		return true
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x2800, r == 0x3164, r == 0xFFA0: // characters without a shape
		return true
	case r >= 0x180B && r <= 0x180F, r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF: // variation selectors
		return true
	}
	return !unicode.IsPrint(r) // control, format, and spaces that are not ' '
}

// Bounds of empty lines and spaces in a row. Longer runs, which could push text out of sight,
// are replaced by their length.
const (
	maxEmptyLines = 3  // lines
	maxSpaces     = 80 // in a row
)

// collapseEmptyLines replaces long runs of empty lines by their length.
func collapseEmptyLines(text string) string {
	var b strings.Builder
	empty := 0
	flush := func() {
		if empty > maxEmptyLines {
			fmt.Fprintf(&b, "⟨%d empty lines⟩\n", empty)
		} else {
			b.WriteString(strings.Repeat("\n", empty))
		}
		empty = 0
	}
	for line := range strings.SplitAfterSeq(text, "\n") {
		if strings.TrimSpace(line) == "" && strings.HasSuffix(line, "\n") {
			empty++
			continue
		}
		flush()
		b.WriteString(collapseSpaces(line))
	}
	flush()
	return b.String()
}

// collapseSpaces replaces long runs of spaces by their length.
func collapseSpaces(line string) string {
	if len(line) < maxSpaces {
		return line
	}
	var b strings.Builder
	for line != "" {
		rest := strings.TrimLeft(line, " \t")
		if run := len(line) - len(rest); run >= maxSpaces {
			fmt.Fprintf(&b, "⟨%d spaces⟩", run)
		} else {
			b.WriteString(line[:run])
		}
		next := strings.IndexAny(rest, " \t")
		if next < 0 {
			next = len(rest)
		}
		b.WriteString(rest[:next])
		line = rest[next:]
	}
	return b.String()
}
