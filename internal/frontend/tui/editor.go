package tui

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

const (
	// foldLines and foldBytes are the sizes from which a paste is folded: it is
	// shown as one word, and sent whole.
	foldLines = 6
	foldBytes = 1000
)

// part is one grapheme of the text, or a paste that is folded.
type part struct {
	text   string
	folded bool
	image  *event.Image // the image that the text represents
}

// shown returns the text that represents the part on the screen.
func (p part) shown() string {
	if !p.folded || p.image != nil {
		return p.text
	}
	if lines := strings.Count(strings.TrimSuffix(p.text, "\n"), "\n") + 1; lines > 1 {
		return fmt.Sprintf("[pasted %d lines]", lines)
	}
	return fmt.Sprintf("[pasted %d characters]", utf8.RuneCountInString(p.text))
}

// editor is the text that a person writes, and where the cursor is in it.
type editor struct {
	parts []part
	at    int
	cut   []part // cut last, for ctrl+y
}

func partsOf(text string) []part {
	parts := make([]part, 0, len(text))
	for text != "" {
		cluster, _ := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		if cluster == "" {
			break
		}
		parts = append(parts, part{text: cluster})
		text = text[len(cluster):]
	}
	return parts
}

func (e *editor) empty() bool { return len(e.parts) == 0 }

// text returns the whole text, as it is sent.
func (e *editor) text() string {
	var b strings.Builder
	for _, p := range e.parts {
		b.WriteString(p.text)
	}
	return b.String()
}

func (e *editor) set(text string) { e.put(foldedParts(text)) }

// put replaces the text by a copy of the parts. The cursor is at the end.
func (e *editor) put(parts []part) { e.parts, e.at = slices.Clone(parts), len(parts) }

func (e *editor) insert(parts ...part) {
	rest := append([]part(nil), e.parts[e.at:]...)
	e.parts = append(append(e.parts[:e.at], parts...), rest...)
	e.at += len(parts)
}

func (e *editor) paste(text string) { e.insert(foldedParts(text)...) }

// foldedParts makes one part of a text that is too long to be shown.
func foldedParts(text string) []part {
	if strings.Count(text, "\n") >= foldLines || len(text) >= foldBytes {
		return []part{{text: text, folded: true}}
	}
	return partsOf(text)
}

// key edits: it executes an action, or inserts the character of the key.
func (e *editor) key(do string, k terminal.Key) {
	switch do {
	case keymap.Newline:
		e.insert(part{text: "\n"})
	case keymap.Left:
		e.at = max(e.at-1, 0)
	case keymap.Right:
		e.at = min(e.at+1, len(e.parts))
	case keymap.LineStart:
		e.at = e.lineStart(e.at)
	case keymap.LineEnd:
		e.at = e.lineEnd(e.at)
	case keymap.WordLeft:
		e.at = e.wordStart()
	case keymap.WordRight:
		e.at = e.wordEnd()
	case keymap.DeleteLeft:
		e.remove(max(e.at-1, 0), e.at)
	case keymap.DeleteRight:
		e.remove(e.at, min(e.at+1, len(e.parts)))
	case keymap.CutWordLeft:
		e.kill(e.wordStart(), e.at)
	case keymap.CutWordRight:
		e.kill(e.at, e.wordEnd())
	case keymap.CutLineStart:
		e.kill(e.lineStart(e.at), e.at)
	case keymap.CutLineEnd:
		end := e.lineEnd(e.at)
		if end == e.at {
			end = min(end+1, len(e.parts)) // the line's end itself
		}
		e.kill(e.at, end)
	case keymap.Paste:
		e.insert(append([]part(nil), e.cut...)...)
	default:
		e.insert(partsOf(k.Text)...)
	}
}

// up and down move between lines, and report whether there is one.
func (e *editor) up() bool {
	start := e.lineStart(e.at)
	if start == 0 {
		return false
	}
	before := e.lineStart(start - 1)
	e.at = min(before+e.at-start, start-1)
	return true
}

func (e *editor) down() bool {
	end := e.lineEnd(e.at)
	if end == len(e.parts) {
		return false
	}
	e.at = min(end+1+e.at-e.lineStart(e.at), e.lineEnd(end+1))
	return true
}

func (e *editor) remove(from, to int) {
	e.parts = append(e.parts[:from], e.parts[to:]...)
	e.at = from
}

func (e *editor) kill(from, to int) {
	if from < to {
		e.cut = append([]part(nil), e.parts[from:to]...)
		e.remove(from, to)
	}
}

func (e *editor) clear() { e.kill(0, len(e.parts)) }

func (e *editor) lineStart(at int) int {
	for at > 0 && e.parts[at-1].text != "\n" {
		at--
	}
	return at
}

func (e *editor) lineEnd(at int) int {
	for at < len(e.parts) && e.parts[at].text != "\n" {
		at++
	}
	return at
}

func (e *editor) letter(at int) bool {
	r, _ := utf8.DecodeRuneInString(e.parts[at].text)
	return e.parts[at].folded || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

func (e *editor) wordStart() int {
	at := e.at
	for at > 0 && !e.letter(at-1) {
		at--
	}
	for at > 0 && e.letter(at-1) {
		at--
	}
	return at
}

func (e *editor) wordEnd() int {
	at := e.at
	for at < len(e.parts) && !e.letter(at) {
		at++
	}
	for at < len(e.parts) && e.letter(at) {
		at++
	}
	return at
}

// promptMark stands before the editor's first row.
const promptMark = "> "

// frame returns the editor's rows, at most height of them around the cursor, and the cell
// of the cursor. Rows can break at any character, so that the cursor's cell is known.
func (e *editor) frame(width, height int) (rows []terminal.Line, x, y int) {
	room := max(width-len(promptMark)-1, 1) // the last column is the cursor's
	row, used := terminal.Line{{Text: promptMark, Style: terminal.Style{Attr: terminal.Bold}}}, 0
	next := func() {
		rows = append(rows, row)
		row, used = terminal.Line{{Text: strings.Repeat(" ", len(promptMark))}}, 0
	}
	for i, p := range e.parts {
		if i == e.at {
			x, y = len(promptMark)+used, len(rows)
		}
		if p.text == "\n" && !p.folded {
			next()
			continue
		}
		style := terminal.Style{}
		if p.folded {
			style.Attr = terminal.Reverse
		}
		for _, c := range partsOf(p.shown()) {
			w := terminal.TextWidth(c.text)
			if used+w > room {
				next()
				if i == e.at && c.text == p.shown() { // it moved to the next row
					x, y = len(promptMark), len(rows)
				}
			}
			row = append(row, terminal.Span{Text: c.text, Style: style})
			used += w
		}
	}
	if e.at == len(e.parts) {
		x, y = len(promptMark)+used, len(rows)
	}
	rows = append(rows, row)
	if excess := len(rows) - height; excess > 0 {
		from := min(max(y-height+1, 0), excess)
		rows, y = rows[from:from+height], y-from
	}
	return rows, x, y
}

func joinParts(parts []part) string {
	e := editor{parts: slices.Clone(parts)}
	return e.text()
}
