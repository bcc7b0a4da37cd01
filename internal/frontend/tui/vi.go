package tui

import (
	"slices"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/internal/terminal"
)

// vi implements the keys of vi in the editor:
//
//	insert ─ Esc ─► normal ─ i a I A o O s S c C ─► insert
//	                  │ count, operator (d c y), motion
//	                  └► Enter sends, and begins to insert
//
// Its state belongs to the editor that each key receives.
type vi struct {
	on, normal bool

	count    int
	operator string // that waits for a motion: d, c or y
	before   int    // its count
	awaits   string // a command that needs one more key: g, r, f, F, t, T, or i and a of an operator
	find     [2]string

	lines      []part // that were cut whole
	undo, redo []snapshot
}

// snapshot is an earlier state of the editor.
type snapshot struct {
	parts []part
	at    int
}

const (
	// maxUndo is the number of changes that can be undone.
	maxUndo = 100
	// maxCount bounds a count, and maxPut the number of characters that a count puts.
	maxCount = 9999
	maxPut   = 1 << 16
)

// mode returns the mode for the status row.
func (v *vi) mode() string {
	switch {
	case !v.on:
		return ""
	case !v.normal:
		return "INSERT"
	}
	return strings.TrimSpace("NORMAL " + v.pending())
}

// times returns the repeat count of a command.
func (v *vi) times() int { return min(max(v.count, 1)*max(v.before, 1), maxCount) }

// pending is the beginning of a command.
func (v *vi) pending() string {
	return number(v.before) + v.operator + number(v.count) + v.awaits
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// reset forgets the beginning of a command.
func (v *vi) reset() { v.count, v.operator, v.before, v.awaits = 0, "", 0, "" }

// begin starts with a new text.
func (v *vi) begin() {
	v.reset()
	v.normal, v.undo, v.redo = false, nil, nil
}

// leave goes from insert to normal.
func (v *vi) leave(e *editor) {
	v.reset()
	if len(v.undo)+len(v.redo) == 0 { // the text began empty
		v.undo = []snapshot{{}}
	}
	if v.normal = true; e.at > e.lineStart(e.at) {
		e.at--
	}
}

// insert starts insert mode. One undo reverts all text typed until insert mode ends.
func (v *vi) insert() { v.normal = false }

// save records the editor's state, for undo.
func (v *vi) save(e *editor) {
	v.undo, v.redo = append(v.undo, snapshot{slices.Clone(e.parts), e.at}), nil
	if excess := len(v.undo) - maxUndo; excess > 0 {
		v.undo = v.undo[excess:]
	}
}

// restore goes one step from one list to the other.
func (v *vi) restore(e *editor, from, to *[]snapshot) {
	n := len(*from) - 1
	if n < 0 {
		return
	}
	*to = append(*to, snapshot{slices.Clone(e.parts), e.at})
	e.parts, e.at = (*from)[n].parts, (*from)[n].at
	*from = (*from)[:n]
}

// key takes a key in normal mode, and reports whether it means something there.
// Keys that are no text are left to the editor.
func (v *vi) key(e *editor, k terminal.Key) bool {
	text := k.Text
	switch k.Name {
	case "ctrl+r":
		v.reset()
		v.restore(e, &v.redo, &v.undo)
		v.clamp(e)
		return true
	case "backspace":
		text = "h"
	case "space":
		text = "l"
	}
	if text == "" {
		return false
	}
	if text == " " {
		text = "l"
	}
	v.text(e, text)
	if v.normal {
		v.clamp(e)
	}
	return true
}

func (v *vi) text(e *editor, text string) {
	switch {
	case v.awaits != "":
		v.awaited(e, text)
	case text >= "1" && text <= "9" && len(text) == 1 || text == "0" && v.count > 0:
		v.count = min(v.count*10+int(text[0]-'0'), maxCount)
	case text == "g" || slices.Contains([]string{"f", "F", "t", "T"}, text),
		text == "r" && v.operator == "", v.operator != "" && (text == "i" || text == "a"):
		v.awaits = text
	case v.operator != "":
		v.operate(e, text)
	case text == "d" || text == "c" || text == "y":
		v.operator, v.before, v.count = text, v.count, 0
	default:
		if !v.command(e, text) {
			v.move(e, text)
		}
		v.reset()
	}
}

// awaited takes the key that something waits for.
func (v *vi) awaited(e *editor, text string) {
	waits := v.awaits
	v.awaits = ""
	switch {
	case waits == "r":
		v.replace(e, text)
	case waits == "i" || waits == "a":
		if from, to, ok := v.object(e, waits, text); ok {
			v.apply(e, from, to)
		}
	case waits == "g" && text != "g":
	default:
		if waits != "g" {
			v.find = [2]string{waits, text}
			text = "find"
		} else {
			text = "gg"
		}
		if v.operator != "" {
			v.operate(e, text)
			return
		}
		v.move(e, text)
	}
	v.reset()
}

// move goes where a motion leads.
func (v *vi) move(e *editor, text string) {
	if m, ok := v.motion(e, text); ok {
		e.at = m.to
	}
}

// replace overwrites the next characters with one character.
func (v *vi) replace(e *editor, text string) {
	n := max(v.count, 1)
	if e.at+n > e.lineEnd(e.at) {
		return
	}
	v.save(e)
	for i := range n {
		e.parts[e.at+i] = part{text: text}
	}
	e.at += n - 1
}

// command runs a command that changes the text or starts insert mode.
func (v *vi) command(e *editor, text string) bool {
	alias := map[string][2]string{
		"x": {"d", "l"}, "X": {"d", "h"}, "D": {"d", "$"}, "C": {"c", "$"}, "s": {"c", "l"}, "S": {"c", "c"},
		"Y": {"y", "y"},
	}
	if a, ok := alias[text]; ok {
		v.operator = a[0]
		v.operate(e, a[1])
		return true
	}
	switch text {
	case "u":
		for range max(v.count, 1) {
			v.restore(e, &v.undo, &v.redo)
		}
		return true
	case "p", "P":
		v.put(e, text == "P")
		return true
	case "J":
		v.join(e)
		return true
	case "~":
		v.toggle(e)
		return true
	}
	return v.begins(e, text)
}

// begins begins to insert.
func (v *vi) begins(e *editor, text string) bool {
	if !slices.Contains([]string{"i", "a", "I", "A", "o", "O"}, text) {
		return false
	}
	v.save(e)
	switch text {
	case "a":
		e.at = min(e.at+1, e.lineEnd(e.at))
	case "I":
		e.at = e.firstLetter(e.at)
	case "A":
		e.at = e.lineEnd(e.at)
	case "o":
		e.at = e.lineEnd(e.at)
		e.insert(part{text: "\n"})
	case "O":
		e.at = e.lineStart(e.at)
		e.insert(part{text: "\n"})
		e.at--
	}
	v.insert()
	return true
}

// put pastes the cut text.
func (v *vi) put(e *editor, before bool) {
	if len(e.cut) == 0 {
		return
	}
	v.save(e)
	lines := len(v.lines) > 0 && &v.lines[0] == &e.cut[0]
	cut := slices.Repeat(e.cut, max(min(v.times(), maxPut/len(e.cut)), 1))
	switch {
	case lines && before:
		e.at = e.lineStart(e.at)
		start := e.at
		e.insert(cut...)
		e.at = start
	case lines:
		e.at = e.lineEnd(e.at)
		start := e.at + 1
		e.insert(append([]part{{text: "\n"}}, cut[:len(cut)-1]...)...)
		e.at = start
	default:
		if !before {
			e.at = min(e.at+1, e.lineEnd(e.at))
		}
		e.insert(cut...)
		e.at--
	}
}

// join makes one line of this one and the next.
func (v *vi) join(e *editor) {
	end := e.lineEnd(e.at)
	if end == len(e.parts) {
		return
	}
	v.save(e)
	to := e.firstLetter(end + 1)
	e.remove(end, to)
	if end > 0 && !e.blank(end-1) {
		e.insert(part{text: " "})
		e.at = end
	}
}

// toggle changes small letters to large ones and back.
func (v *vi) toggle(e *editor) {
	v.save(e)
	for range max(v.count, 1) {
		if e.at == e.lineEnd(e.at) {
			return
		}
		if p := &e.parts[e.at]; !p.folded {
			if large := strings.ToUpper(p.text); large != p.text {
				p.text = large
			} else {
				p.text = strings.ToLower(p.text)
			}
		}
		e.at++
	}
}

// clamp keeps the cursor on a character.
func (v *vi) clamp(e *editor) {
	e.at = min(e.at, len(e.parts))
	if end := e.lineEnd(e.at); e.at == end && e.at > e.lineStart(e.at) {
		e.at--
	}
}
