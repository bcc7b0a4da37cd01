package terminal

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Flow breaks a text between words while it arrives in pieces. It holds the last word back until
// the word is complete, and leaves code between fences and rows of tables as they are. It is not
// safe for concurrent use.
type Flow struct {
	// Width is the number of columns of a row; with 0, Flow changes nothing and holds nothing.
	Width int

	column, indent int    // of the open row
	start          string // the beginning of the open line, up to a few characters
	gap, word      string // held text: spaces, then the word after them
	wordWidth      int
	verbatim       bool // the open line is not broken
	fenced         bool // the lines between fences are not broken
}

// maxLineStart is the number of bytes at the start of a line that determine its kind.
const maxLineStart = 40

// Add adds text, which must be harmless, and returns the text that can be printed now.
func (f *Flow) Add(text string) string {
	if f.Width <= 0 {
		return f.End() + text
	}
	var b strings.Builder
	for text != "" {
		cluster, width := text[:1], 1
		if text[0] >= 0x80 || len(text) > 1 && text[1] >= 0x80 {
			cluster, width = ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		}
		text = text[len(cluster):]
		f.take(&b, cluster, width)
	}
	return b.String()
}

func (f *Flow) take(b *strings.Builder, cluster string, width int) {
	switch {
	case cluster == "\n":
		f.place(b)
		b.WriteByte('\n')
		f.endLine()
		return
	case f.verbatim || f.fenced:
		b.WriteString(cluster)
	case cluster == " " || cluster == "\t":
		f.place(b)
		f.gap += cluster
	default:
		if width > 1 { // a row can end before and after each character of wide scripts
			f.place(b)
		}
		f.word += cluster
		if f.wordWidth += width; width > 1 || f.wordWidth > f.Width {
			f.place(b)
		}
	}
	if len(f.start) < maxLineStart {
		f.start += cluster
		if f.classify(); f.verbatim {
			f.place(b)
		}
	}
}

// classify decides from the beginning of the line whether the line is broken, and how far its
// further rows are indented.
func (f *Flow) classify() {
	text := strings.TrimLeft(f.start, " ")
	spaces := len(f.start) - len(text)
	f.indent = spaces
	switch {
	case strings.HasPrefix(text, "|"), strings.HasPrefix(text, "```"), strings.HasPrefix(text, "~~~"):
		f.verbatim = true
	case strings.HasPrefix(text, "- "), strings.HasPrefix(text, "* "), strings.HasPrefix(text, "> "):
		f.indent = spaces + 2
	default:
		digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
		if digits > 0 && strings.HasPrefix(text[digits:], ". ") {
			f.indent = spaces + digits + 2
		}
	}
	if f.indent > f.Width/2 {
		f.indent = 0
	}
}

// place prints the held text, in the open row or in the next one.
func (f *Flow) place(b *strings.Builder) {
	if f.word == "" {
		if f.verbatim {
			b.WriteString(f.gap)
			f.gap = ""
		}
		return
	}
	needs := TextWidth(f.gap) + f.wordWidth
	if f.column > f.indent && f.column+needs > f.Width && f.wordWidth <= f.Width {
		b.WriteByte('\n')
		f.gap, f.column = strings.Repeat(" ", f.indent), 0
	}
	b.WriteString(f.gap + f.word)
	f.column += TextWidth(f.gap) + f.wordWidth
	if f.column > f.Width { // the terminal breaks the word
		f.column %= f.Width
	}
	f.gap, f.word, f.wordWidth = "", "", 0
}

func (f *Flow) endLine() {
	text := strings.TrimLeft(f.start, " ")
	if strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~") {
		f.fenced = !f.fenced
	}
	f.column, f.indent, f.start, f.gap, f.verbatim = 0, 0, "", "", false
}

// End returns the held text; later text continues in the same row.
func (f *Flow) End() string {
	var b strings.Builder
	f.place(&b)
	return b.String()
}

// Reset begins a new text at the beginning of a row.
func (f *Flow) Reset() { *f = Flow{Width: f.Width} }
