package terminal

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// cell is one grapheme.
type cell struct {
	text  string
	width int
	style Style
}

func (c cell) space() bool { return c.text == " " }

// TextWidth returns how many columns the text takes, once it is harmless.
func TextWidth(text string) int { return textWidth(clean(text)) }

func textWidth(text string) int {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return ansi.StringWidth(text)
		}
	}
	return len(text)
}

// cells splits a line into graphemes.
func cells(l Line) []cell {
	var out []cell
	for _, s := range l {
		text := clean(s.Text)
		out = slices.Grow(out, len(text))
		for text != "" {
			if text[0] < 0x80 && (len(text) == 1 || text[1] < 0x80) {
				out = append(out, cell{text[:1], 1, s.Style})
				text = text[1:]
				continue
			}
			cluster, width := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
			if cluster == "" {
				break
			}
			out = append(out, cell{cluster, width, s.Style})
			text = text[len(cluster):]
		}
	}
	return out
}

func lineOf(list []cell) Line {
	var l Line
	for start := 0; start < len(list); {
		end := start
		var b strings.Builder
		for ; end < len(list) && list[end].style == list[start].style; end++ {
			b.WriteString(list[end].text)
		}
		l = append(l, Span{b.String(), list[start].style})
		start = end
	}
	return l
}

// Indent is the text before the first row and the other rows of a wrapped line.
type Indent struct{ First, Rest Line }

// Wrap breaks a line into rows of at most width columns, between words where
// that is possible, and not between a number and its unit. There is always one row at least.
func Wrap(l Line, width int, indent Indent) []Line { return wrap(l, width, indent, true) }

// Break is Wrap that breaks anywhere, and keeps every space: for code and the
// output of commands.
func Break(l Line, width int, indent Indent) []Line { return wrap(l, width, indent, false) }

func wrap(l Line, width int, indent Indent, words bool) []Line {
	if indent.First.Width()+l.Width() <= width { // as most lines
		return []Line{append(indent.First[:len(indent.First):len(indent.First)], l...)}
	}
	list := cells(l)
	var rows []Line
	prefix := indent.First
	for {
		room := width - prefix.Width()
		if room < 2 { // a terminal of next to no columns: the text matters more
			prefix = nil
			if len(rows) > 0 { // a wrapped line must not look like the beginning of another one
				prefix = Plain(strings.Repeat(" ", width/2), Style{})
			}
			room = max(width-prefix.Width(), 1)
		}
		end, next := cut(list, room, words)
		rows = append(rows, append(prefix[:len(prefix):len(prefix)], lineOf(list[:end])...))
		if list = list[next:]; len(list) == 0 {
			return rows
		}
		prefix = indent.Rest
	}
}

// cut returns where the first row ends, and where the next one begins.
func cut(list []cell, room int, words bool) (end, next int) {
	used, gap, inUnit := 0, -1, -1
	for i, c := range list {
		begins := words && c.space() && i > 0 && !list[i-1].space()
		if begins && joinsUnit(list, i) {
			inUnit = i
		}
		if used+c.width > room {
			switch {
			case words && c.space() && inUnit != i:
				return trimmed(list, i)
			case gap > 0:
				return trimmed(list, gap)
			case inUnit > 0:
				return trimmed(list, inUnit)
			case i == 0: // wider than the terminal
				return 1, 1
			}
			return i, i
		}
		if used += c.width; begins && inUnit != i {
			gap = i
		}
	}
	return len(list), len(list)
}

// joinsUnit reports whether the space is between a number and its unit of time or size, or
// within "exit code 1": these stay on one row.
func joinsUnit(list []cell, at int) bool {
	before, after := textOf(list[max(at-9, 0):at]), textOf(list[at+1:min(at+5, len(list))])
	switch {
	case strings.HasSuffix(before, "exit"):
		return after == "code"
	case strings.HasSuffix(before, "exit code"):
		return startsWithDigit(after)
	case before == "" || !startsWithDigit(before[len(before)-1:]):
		return false
	}
	end := strings.IndexFunc(after, func(r rune) bool { return r < 'A' || r > 'z' })
	if end < 0 {
		end = len(after)
	}
	return slices.Contains([]string{"ms", "s", "B", "kB", "MB", "GB"}, after[:end])
}

func startsWithDigit(text string) bool { return text != "" && text[0] >= '0' && text[0] <= '9' }

func textOf(list []cell) string {
	var b strings.Builder
	for _, c := range list {
		b.WriteString(c.text)
	}
	return b.String()
}

// trimmed drops the spaces around a break.
func trimmed(list []cell, at int) (end, next int) {
	for next = at; next < len(list) && list[next].space(); next++ {
	}
	return at, next
}

// Clip shortens a line that is too wide, and marks the cut.
func Clip(l Line, width int) Line {
	if l.Width() <= width {
		return l
	}
	used := 0
	list := cells(l)
	for i, c := range list {
		if used += c.width; used > width-1 {
			return append(lineOf(list[:i]), Span{"…", Style{Attr: Faint}})
		}
	}
	return l
}

// trimSpaces drops spaces at the end: tmux loses the cursor where it wraps a row
// between them.
func trimSpaces(l Line) Line {
	for len(l) > 0 {
		last := l[len(l)-1]
		text := strings.TrimRight(last.Text, " ")
		if text == last.Text {
			return l
		}
		if l = l[: len(l)-1 : len(l)-1]; text != "" {
			return append(l, Span{text, last.Style})
		}
	}
	return l
}

// wrapped returns how many rows a row takes once the terminal has wrapped it at
// another width.
func wrapped(list []cell, width int) int {
	rows, used := 1, 0
	for _, c := range list {
		if used+c.width > width {
			rows, used = rows+1, 0
		}
		used += c.width
	}
	return rows
}
