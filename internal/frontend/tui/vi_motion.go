package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// motion is the target of a motion, and the range that an operator uses.
type motion struct {
	to        int
	inclusive bool // including the character at to
	lines     bool // whole lines
}

// motion returns where the keys lead.
func (v *vi) motion(e *editor, text string) (m motion, ok bool) {
	n, at := v.times(), e.at
	start, end := e.lineStart(at), e.lineEnd(at)
	switch text {
	case "h":
		return motion{to: max(at-n, start)}, true
	case "l":
		return motion{to: min(at+n, end)}, true
	case "0":
		return motion{to: start}, true
	case "^":
		return motion{to: e.firstLetter(at)}, true
	case "$":
		return motion{to: end}, true
	case "j", "k":
		return v.vertical(e, text, n)
	case "gg", "G":
		return v.line(e, text), true
	case "w", "W", "b", "B", "e", "E":
		return v.word(e, text, n), true
	case "find", ";", ",":
		return v.search(e, text, n)
	}
	return motion{}, false
}

// vertical goes up or down by lines.
func (v *vi) vertical(e *editor, text string, n int) (motion, bool) {
	walk := editor{parts: e.parts, at: e.at}
	for range n {
		if text == "j" && !walk.down() || text == "k" && !walk.up() {
			break
		}
	}
	return motion{to: walk.at, lines: true}, walk.lineStart(walk.at) != e.lineStart(e.at) || v.operator == ""
}

// line goes to a line by its number: without one, gg to the first and G to the
// last.
func (v *vi) line(e *editor, text string) motion {
	at := 0
	if text == "G" && v.count == 0 {
		at = e.lineStart(len(e.parts))
	}
	for range v.count - 1 {
		end := e.lineEnd(at)
		if end == len(e.parts) {
			break
		}
		at = end + 1
	}
	return motion{to: e.firstLetter(at), lines: true}
}

// word goes by words.
func (v *vi) word(e *editor, text string, n int) motion {
	big := text == strings.ToUpper(text)
	at := e.at
	for range n {
		switch strings.ToLower(text) {
		case "w":
			at = e.nextWord(at, big)
		case "b":
			at = e.previousWord(at, big)
		case "e":
			at = e.endOfWord(at, big)
		}
	}
	return motion{to: at, inclusive: strings.EqualFold(text, "e")}
}

// search moves to a character in the line, by the last f, F, t or T.
func (v *vi) search(e *editor, text string, n int) (motion, bool) {
	how, what := v.find[0], v.find[1]
	if how == "" {
		return motion{}, false
	}
	step := 1
	if (how == "F" || how == "T") != (text == ",") {
		step = -1
	}
	start, end := e.lineStart(e.at), e.lineEnd(e.at)
	at := e.at
	if strings.EqualFold(how, "t") && at+step >= start && at+step < end && e.parts[at+step].text == what &&
		text != "find" {
		at += step // it stands before one, which it has found
	}
	for range n {
		for at += step; at >= start && at < end && e.parts[at].text != what; {
			at += step
		}
		if at < start || at >= end {
			return motion{}, false
		}
	}
	if strings.EqualFold(how, "t") {
		at -= step
	}
	return motion{to: at, inclusive: step > 0}, true
}

// operate applies the operator that waits to where the keys lead.
func (v *vi) operate(e *editor, text string) {
	defer v.reset()
	if text == v.operator { // the whole line
		last := e.at
		for range v.times() - 1 {
			if end := e.lineEnd(last); end < len(e.parts) {
				last = end + 1
			}
		}
		v.applyLines(e, e.at, last)
		return
	}
	if v.operator == "c" && strings.EqualFold(text, "w") && e.at < len(e.parts) && !e.blank(e.at) {
		text = map[string]string{"w": "e", "W": "E"}[text] // cw leaves the space
		if n := v.times(); n == 1 &&
			(e.at+1 == len(e.parts) || e.class(e.at+1, text == "E") != e.class(e.at, text == "E")) {
			v.apply(e, e.at, e.at+1)
			return
		}
	}
	m, ok := v.motion(e, text)
	switch {
	case !ok:
	case m.lines:
		v.applyLines(e, min(e.at, m.to), max(e.at, m.to))
	default:
		from, to := min(e.at, m.to), max(e.at, m.to)
		if m.inclusive {
			to = min(to+1, len(e.parts))
		}
		if end := e.lineEnd(e.at); strings.EqualFold(text, "w") && to > end && end > from { // it does not join lines
			to = end
		}
		v.apply(e, from, to)
	}
}

// apply applies the operator to a range.
func (v *vi) apply(e *editor, from, to int) {
	operator := v.operator
	if v.reset(); from >= to && operator != "c" {
		return
	}
	if operator == "y" {
		e.cut, e.at = append([]part(nil), e.parts[from:to]...), from
		return
	}
	v.save(e)
	e.at = from
	if e.kill(from, to); operator == "c" {
		v.insert()
	}
}

// applyLines applies the operator to whole lines.
func (v *vi) applyLines(e *editor, from, to int) {
	operator := v.operator
	v.reset()
	from, to = e.lineStart(from), e.lineEnd(to)
	e.cut = append(append([]part(nil), e.parts[from:to]...), part{text: "\n"})
	v.lines = e.cut
	switch operator {
	case "y":
		e.at = from
		return
	case "c":
		v.save(e)
		e.remove(from, to)
		v.insert()
		return
	}
	v.save(e)
	switch {
	case to < len(e.parts):
		to++ // the line's end goes with it
	case from > 0:
		from--
	}
	e.remove(from, to)
	e.at = e.firstLetter(min(from, len(e.parts)))
}

// object returns the range of the text objects i and a: the word at the cursor, for a with
// the space after it.
func (v *vi) object(e *editor, kind, text string) (from, to int, ok bool) {
	if text != "w" && text != "W" || e.at >= len(e.parts) {
		return 0, 0, false
	}
	big := text == "W"
	start, end := e.lineStart(e.at), e.lineEnd(e.at)
	class := e.class(e.at, big)
	for from = e.at; from > start && e.class(from-1, big) == class; {
		from--
	}
	for to = e.at; to < end && e.class(to, big) == class; {
		to++
	}
	if kind == "a" {
		for to < end && e.blank(to) {
			to++
		}
	}
	return from, to, true
}

// class is a character class that separates words.
type class string

const (
	letters class = "letters"
	marks   class = "marks"
	blanks  class = "blanks"
)

func (e *editor) class(at int, big bool) class {
	r, _ := utf8.DecodeRuneInString(e.parts[at].text)
	switch {
	case e.letter(at):
		return letters
	case unicode.IsSpace(r):
		return blanks
	case big:
		return letters
	}
	return marks
}

func (e *editor) blank(at int) bool { return e.class(at, false) == blanks }

// firstLetter is the first character of the line that is no space.
func (e *editor) firstLetter(at int) int {
	end := e.lineEnd(at)
	for at = e.lineStart(at); at < end && e.blank(at); {
		at++
	}
	return at
}

func (e *editor) nextWord(at int, big bool) int {
	if at >= len(e.parts) {
		return at
	}
	for begin := e.class(at, big); at < len(e.parts) && e.class(at, big) == begin && begin != blanks; {
		at++
	}
	for at < len(e.parts) && e.blank(at) {
		at++
	}
	return at
}

func (e *editor) previousWord(at int, big bool) int {
	for at > 0 && e.blank(at-1) {
		at--
	}
	if at == 0 {
		return 0
	}
	for begin := e.class(at-1, big); at > 0 && e.class(at-1, big) == begin; {
		at--
	}
	return at
}

func (e *editor) endOfWord(at int, big bool) int {
	last := len(e.parts) - 1
	if at >= last {
		return max(last, 0)
	}
	for at++; at < last && e.blank(at); {
		at++
	}
	for begin := e.class(at, big); at < last && e.class(at+1, big) == begin; {
		at++
	}
	return at
}
