package tui

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/tool/file"
)

// maxDiff is the number of shown lines of a call's changes. For a longer change, the last lastDiff
// lines are among them.
const (
	maxDiff  = 40
	lastDiff = 10
)

// changeRows returns the rows of changes to files: each line with its number, and
// differences within a line highlighted.
func changeRows(changes []toolview.Change, dir string, width, limit int, all string) (rows []terminal.Line) {
	for _, c := range changes {
		lines := diffLines(c.Body())
		name := relative(dir, c.Path)
		if c.From != "" {
			name = relative(dir, c.From) + " → " + name
		}
		head := fmt.Sprintf("  %s (%s, %s)", terminal.OneLine(name), c.Kind, countsOf(lines))
		if len(lines) == 0 && c.Kind == file.Update {
			head = fmt.Sprintf("  %s (no change)", terminal.OneLine(name))
		}
		rows = append(rows, terminal.Clip(terminal.Plain(head, faint()), width))
		first, last := shownLines(len(lines), limit)
		limit -= first + last
		for n, l := range lines {
			switch {
			case n < first, n >= len(lines)-last:
				rows = append(rows, l.rows(width)...)
			case n == first:
				rows = append(rows, leftOut("  ", len(lines)-first-last, all, width))
			}
		}
	}
	return rows
}

// shownLines returns how many of the first and of the last lines have room.
func shownLines(lines, room int) (first, last int) {
	if lines <= room {
		return lines, 0
	}
	last = min(lastDiff, room/2)
	return max(room-last, 0), last
}

// countsOf returns the numbers of lines that a diff adds and removes, as text.
func countsOf(lines []diffLine) string {
	added, removed := 0, 0
	for _, l := range lines {
		switch l.sign {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return fmt.Sprintf("+%d −%d", added, removed)
}

// totalsOf returns the numbers of lines that changes add and remove, as text.
func totalsOf(changes []toolview.Change) string {
	var lines []diffLine
	for _, c := range changes {
		lines = append(lines, diffLines(c.Body())...)
	}
	return countsOf(lines)
}

// diffLine is a line of a diff. number is its own in the new file, or in the
// old one if it is removed; 0 for a gap between hunks.
type diffLine struct {
	sign   byte
	number int
	text   string
	// from and to bound the difference to the line that replaces it, or that it replaces.
	from, to int
}

// diffLines reads a unified diff without the lines that name the files.
func diffLines(diff string) (lines []diffLine) {
	before, after := 0, 0
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		switch line[0] {
		case '@':
			if len(lines) > 0 {
				lines = append(lines, diffLine{sign: '@'})
			}
			_, _ = fmt.Sscanf(line, "@@ -%d", &before) // our own diffs; else they are numbered from 0
			if _, rest, ok := strings.Cut(line, " +"); ok {
				_, _ = fmt.Sscanf(rest, "%d", &after)
			}
		case '+':
			lines = append(lines, diffLine{sign: '+', number: after, text: line[1:]})
			after++
		case '-':
			lines = append(lines, diffLine{sign: '-', number: before, text: line[1:]})
			before++
		case ' ':
			lines = append(lines, diffLine{sign: ' ', number: after, text: line[1:]})
			before++
			after++
		}
	}
	compare(lines)
	return lines
}

// compare finds differences within replaced lines: a run of removed lines followed by as
// many added ones.
func compare(lines []diffLine) {
	for start := 0; start < len(lines); start++ {
		removed := 0
		for start+removed < len(lines) && lines[start+removed].sign == '-' {
			removed++
		}
		added := 0
		for start+removed+added < len(lines) && lines[start+removed+added].sign == '+' {
			added++
		}
		if removed > 0 && removed == added {
			for n := range removed {
				differ(&lines[start+n], &lines[start+removed+n])
			}
		}
		start += max(removed+added-1, 0)
	}
}

// differ bounds the middle part in which two lines differ, unless that is most of both
// lines.
func differ(a, b *diffLine) {
	head := 0
	for head < min(len(a.text), len(b.text)) && a.text[head] == b.text[head] {
		head++
	}
	tail := 0
	for tail < min(len(a.text), len(b.text))-head && a.text[len(a.text)-1-tail] == b.text[len(b.text)-1-tail] {
		tail++
	}
	for head > 0 && !(runeStart(a.text, head) && runeStart(b.text, head)) {
		head--
	}
	for tail > 0 && !(runeStart(a.text, len(a.text)-tail) && runeStart(b.text, len(b.text)-tail)) {
		tail--
	}
	if 3*(head+tail) < len(a.text)+len(b.text)-head-tail {
		return
	}
	a.from, a.to = head, len(a.text)-tail
	b.from, b.to = head, len(b.text)-tail
}

func runeStart(text string, at int) bool { return at == len(text) || utf8.RuneStart(text[at]) }

func (l diffLine) rows(width int) []terminal.Line {
	if l.sign == '@' {
		return []terminal.Line{terminal.Plain("       ⋮", faint())}
	}
	style := faint()
	switch l.sign {
	case '+':
		style = success()
	case '-':
		style = failure()
	}
	first := terminal.Plain(fmt.Sprintf("  %4d %c ", l.number, l.sign), style)
	indent := terminal.Indent{First: first, Rest: spaces(first.Width())}
	line := terminal.Line{
		{Text: l.text[:l.from], Style: style},
		{Text: l.text[l.from:l.to], Style: style.With(terminal.Reverse)},
		{Text: l.text[l.to:], Style: style},
	}
	return terminal.Break(line, width, indent)
}
