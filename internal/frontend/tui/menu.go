package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/terminal"
)

// choice is one of a list. Tabs separate the columns of its detail.
type choice struct {
	id, label, detail string
	// group is the heading of this choice and of the following choices with the same group. Tabs separate
	// the headings of the label and of the columns.
	group string
}

// list are choices, one of which is selected.
type list struct {
	choices []choice
	at      int
	// answers has the details at the right edge: they are keys. No label is cut.
	answers bool
	// ends has the selection stay at the first and the last choice, and not continue at the other end.
	ends bool
}

func (l *list) move(n int) {
	switch {
	case len(l.choices) == 0:
	case l.ends:
		l.at = min(max(l.at+n, 0), len(l.choices)-1)
	default:
		l.at = (l.at + n + len(l.choices)) % len(l.choices)
	}
}

// key moves the selection, and reports whether the key does that.
func (l *list) key(name string) bool {
	switch name {
	case "up", "ctrl+p":
		l.move(-1)
	case "down", "ctrl+n":
		l.move(1)
	case "pgup":
		l.at = max(l.at-maxShown, 0)
	case "pgdown":
		l.at = max(min(l.at+maxShown, len(l.choices)-1), 0)
	default:
		return false
	}
	return true
}

func (l *list) selected() choice {
	if l.at >= len(l.choices) {
		return choice{}
	}
	return l.choices[l.at]
}

// rows returns the rows around the selected choice and its heading, at most limit. Details of the selected
// choice without room in its row are below it.
func (l *list) rows(width, limit int) (rows []terminal.Line) {
	if len(l.choices) == 0 || limit <= 0 {
		return nil
	}
	at, heading, group, columns := 0, -1, "", []int(nil) // indexes of rows: of the selected choice, of its heading
	var begins []bool                                    // whether a choice begins in the row
	add := func(isChoice bool, more ...terminal.Line) {
		for n := range more {
			begins = append(begins, isChoice && n == 0)
		}
		rows = append(rows, more...)
	}
	for n, c := range l.choices {
		if n == 0 || c.group != group {
			columns = l.columns(c.group, width)
		}
		if c.group != group {
			if group = c.group; n <= l.at {
				heading = len(rows)
			}
			add(false, headingRow(group, width, columns))
		}
		selected := n == l.at
		if selected {
			at = len(rows)
		}
		if l.answers {
			add(true, c.answerRows(width, columns, selected)...)
			continue
		}
		row, rest := c.row(width, columns, selected)
		add(true, row)
		if selected && rest != "" {
			indent := terminal.Indent{First: spaces(4), Rest: spaces(4)}
			below := terminal.Wrap(terminal.Plain(rest, faint()), width, indent)
			add(false, below[:min(len(below), maxBelow)]...)
		}
	}
	from := min(max(at-limit/2, 0), max(len(rows)-limit, 0))
	to := min(from+limit, len(rows))
	first := from
	if heading >= 0 && heading <= from && at > from && to-from > 2 { // it stays while its choices move
		rows[from], begins[from] = rows[heading], begins[from] && heading < from
		first++
	}
	if from > 0 && to-from > 4 && first < at {
		rows[first] = moreRow(begins[:first+1], " above")
	}
	if to < len(rows) && to-from > 2 && at < to-1 {
		return append(slices.Clone(rows[from:to-1]), moreRow(begins[to-1:], ""))
	}
	return rows[from:to]
}

// moreRow is the row in place of rows without room. begins reports the rows in which a choice begins.
func moreRow(begins []bool, where string) terminal.Line {
	more := 0
	for _, begin := range begins {
		if begin {
			more++
		}
	}
	return terminal.Plain(fmt.Sprintf("  … %d more%s", more, where), faint())
}

// headingRow is the heading of a group, or the headings of its columns.
func headingRow(group string, width int, columns []int) terminal.Line {
	if !strings.Contains(group, "\t") {
		return terminal.Clip(terminal.Plain(terminal.OneLine(group), warning()), width)
	}
	label, detail, _ := strings.Cut(group, "\t")
	row, _ := choice{label: label, detail: detail}.row(width, columns, false)
	return terminal.Clip(terminal.Plain(row.Text(), warning()), width)
}

const (
	// maxBelow bounds the rows below the selected choice.
	maxBelow = 4
	// minWide is the width below which a label gets the room of details.
	minWide = 60
	// minCut is the minimum number of columns of a truncated detail.
	minCut = 12
	// minName is the minimum number of columns of a truncated label beside columns with headings.
	minName = 24
)

// columns returns the widths of the label and of the columns of the details in a group, as many as
// have room.
func (l *list) columns(group string, width int) (widths []int) {
	label, detail, isTable := strings.Cut(group, "\t")
	all := l.choices
	if isTable {
		all = append([]choice{{label: label, detail: detail, group: group}}, all...)
	}
	for _, c := range all {
		if c.group != group {
			continue
		}
		for n, cell := range c.cells() {
			if n == len(widths) {
				widths = append(widths, 0)
			}
			widths[n] = max(widths[n], terminal.TextWidth(cell))
		}
	}
	rest := 2 * len(widths) // the mark, and the gaps
	for _, w := range widths[1:] {
		rest += w
	}
	maximum := max(width*3/5, width-rest) // a long label does not push all details out
	if isTable {
		maximum = max(minName, width-rest)
	}
	if width < minWide && !l.answers {
		maximum = width - 2 // the details are below the selected choice
	}
	widths[0] = min(widths[0], maximum)
	room := width - 2 - widths[0]
	for n, w := range widths[1:] {
		if room -= 2; room < w && room < minCut {
			return widths[:n+1]
		}
		widths[n+1] = min(w, room)
		room -= widths[n+1]
	}
	return widths
}

// cells returns the label and the columns of the detail.
func (c choice) cells() (cells []string) {
	for cell := range strings.SplitSeq(c.label+"\t"+c.detail, "\t") {
		cells = append(cells, terminal.OneLine(cell))
	}
	return cells
}

// namedCells returns the cells, each detail after the heading of its column.
func (c choice) namedCells() []string {
	cells := c.cells()
	for n, heading := range strings.Split(c.group, "\t") {
		if n > 0 && n < len(cells) && cells[n] != "" {
			cells[n] = heading + " " + cells[n]
		}
	}
	return cells
}

// row returns the row of the choice, and the words that have no room in it.
func (c choice) row(width int, columns []int, selected bool) (line terminal.Line, rest string) {
	mark, style := choiceMark(selected)
	var left []string
	gap := ""
	named := c.namedCells()
	isTable := strings.Contains(c.group, "\t")
	for n, cell := range c.cells() {
		shown := ""
		switch {
		case n == 0 && isTable:
			shown = clipMiddle(cell, columns[0])
		case n < len(columns):
			shown = terminal.Clip(terminal.Plain(cell, style), columns[n]).Text()
		}
		if shown != cell {
			left = append(left, named[n])
		}
		if n == 0 {
			line = terminal.Line{{Text: mark + shown, Style: style}}
		} else if shown != "" {
			line, gap = append(line, terminal.Span{Text: gap + shown, Style: faint()}), ""
		}
		if n < len(columns) {
			gap += strings.Repeat(" ", max(columns[n]-terminal.TextWidth(shown), 0)+2)
		}
	}
	if isTable && len(left) > 0 && left[0] == named[0] { // the name is longer than the values
		left = append(left[1:], left[0])
	}
	return terminal.Clip(line, width), strings.Join(left, "  ")
}

// clipMiddle shortens a name that is too wide to its beginning and its end.
func clipMiddle(name string, width int) string {
	if terminal.TextWidth(name) <= width {
		return name
	}
	parts := partsOf(name)
	for len(parts) > 0 && terminal.TextWidth(joinParts(parts))+1 > width {
		middle := len(parts) / 2
		parts = slices.Delete(parts, middle, middle+1)
	}
	middle := (len(parts) + 1) / 2
	return joinParts(parts[:middle]) + "…" + joinParts(parts[middle:])
}

func choiceMark(selected bool) (string, terminal.Style) {
	if selected {
		return "› ", accent().With(terminal.Bold)
	}
	return "  ", terminal.Style{}
}

// answerRows returns the whole label of an answer, and its key at the right edge of the list.
func (c choice) answerRows(width int, columns []int, selected bool) []terminal.Line {
	mark, style := choiceMark(selected)
	room := max(columns[0], 1)
	edge := 2 + room
	if len(columns) > 1 {
		edge += 2 + columns[1]
	}
	key := terminal.OneLine(c.detail)
	indent := terminal.Indent{First: terminal.Plain(mark, style), Rest: spaces(4)}
	rows := terminal.Wrap(terminal.Plain(terminal.OneLine(c.label), style), 2+room, indent)
	gap := max(edge-rows[0].Width()-terminal.TextWidth(key), 1)
	rows[0] = append(rows[0], terminal.Span{Text: strings.Repeat(" ", gap) + key, Style: faint()})
	for n := range rows {
		rows[n] = terminal.Clip(rows[n], width)
	}
	return rows
}

// menu is a list that takes the keys: a person moves in it, narrows it by typing,
// and chooses.
type menu struct {
	title string
	all   []choice
	list  list // the choices that contain the words
	words string
	// pick is called with the chosen choice after the menu has closed. remove, if set, is
	// called with the choice to remove, and the menu stays open.
	pick, remove func(choice)
	// preview, if set, returns details of a choice.
	preview func(choice) []string
	// sample, if set, returns rows below the choices, and the palette in which the live region is drawn.
	sample func(choice) ([]terminal.Line, terminal.Palette)
	// enter is what Enter does, such as "edits it"; empty if it chooses. escape is what Esc does, such as
	// "goes back"; empty if it closes the menu.
	enter, escape string
	// note is a clause about further keys or about the choice.
	note string
	// refresh, if set, returns the current choices.
	refresh func() []choice
	// home is the id of the choice that changes nothing. If the selected choice is removed, and its group
	// has no other, this choice is selected instead of a neighbour. It may be empty.
	home string
}

// refreshMenu updates the choices. A menu without choices closes.
func (u *UI) refreshMenu() {
	m := u.overlay.menu
	if m == nil || m.refresh == nil {
		return
	}
	if m.all = m.refresh(); len(m.all) == 0 {
		u.overlay.menu = nil
		return
	}
	at, was := m.list.at, m.list.selected()
	m.narrow()
	if m.list.selected().id == was.id {
		return
	}
	m.list.at = max(min(at, len(m.list.choices)-1), 0)
	if m.home != "" && m.list.selected().group != was.group {
		m.words = ""
		m.selectID(m.home)
	}
}

func (u *UI) openMenu(m *menu) {
	if len(m.all) == 0 {
		return
	}
	m.narrow()
	u.overlay.menu, u.input.completion, u.display.dirty = m, nil, true
}

// narrow keeps the choices that have all the words, or, if there are none, the choices whose labels
// have the letters of all the words in their order.
func (m *menu) narrow() {
	was := m.list.selected().id
	m.list.choices = nil
	words := strings.Fields(strings.ToLower(m.words))
	keep := func(has func(c choice, word string) bool) {
		for _, c := range m.all {
			if !slices.ContainsFunc(words, func(w string) bool { return !has(c, w) }) {
				m.list.choices = append(m.list.choices, c)
			}
		}
	}
	keep(func(c choice, word string) bool {
		return strings.Contains(strings.ToLower(c.label+" "+c.detail), word)
	})
	if len(m.list.choices) == 0 {
		keep(func(c choice, word string) bool { return hasLetters(strings.ToLower(c.label), word) })
	}
	m.list.at = max(slices.IndexFunc(m.list.choices, func(c choice) bool { return c.id == was }), 0)
}

// hasLetters reports whether the text has the letters of the word in their order.
func hasLetters(text, word string) bool {
	for _, letter := range word {
		_, rest, found := strings.Cut(text, string(letter))
		if !found {
			return false
		}
		text = rest
	}
	return true
}

// selectID selects the choice with the id.
func (m *menu) selectID(id string) *menu {
	m.narrow()
	m.list.at = max(slices.IndexFunc(m.list.choices, func(c choice) bool { return c.id == id }), 0)
	return m
}

// menuKey moves in the menu, narrows it, or ends it.
func (u *UI) menuKey(k terminal.Key) {
	m := u.overlay.menu
	switch k.Name {
	case "esc", "ctrl+c", "ctrl+g":
		u.overlay.menu = nil
	case "enter", "tab":
		if len(m.list.choices) > 0 {
			u.overlay.menu = nil
			m.pick(m.list.selected())
		}
	case "ctrl+d", "delete":
		if m.remove != nil && len(m.list.choices) > 0 {
			m.remove(m.list.selected())
		}
	default:
		m.key(k)
	}
}

// key moves in the menu, or narrows it.
func (m *menu) key(k terminal.Key) {
	if m.list.key(k.Name) {
		return
	}
	switch k.Name {
	case "backspace", "ctrl+h":
		parts := partsOf(m.words)
		m.words = joinParts(parts[:max(len(parts)-1, 0)])
		m.narrow()
	case "ctrl+u":
		m.words = ""
		m.narrow()
	default:
		if k.Text != "" {
			m.words += k.Text
			m.narrow()
		}
	}
}

// rows returns at most limit rows of the menu: the choices, and a preview of the selected
// one.
func (m *menu) rows(width, limit int) []terminal.Line {
	var about []terminal.Line
	if m.preview != nil && limit > 6 && len(m.list.choices) > 0 {
		for _, line := range m.preview(m.list.selected()) {
			about = append(about, terminal.Clip(terminal.Plain("  │ "+terminal.OneLine(line), faint()), width))
		}
		about = about[:min(len(about), limit/2)]
	}
	if m.sample != nil && limit > 9 && len(m.list.choices) > 0 {
		about, _ = m.sample(m.list.selected())
		about = about[:min(len(about), limit/2)]
		for n := range about {
			about[n] = terminal.Clip(append(terminal.Plain("  │ ", faint()), about[n]...), width)
		}
	}
	if _, fits := m.help(width); !fits {
		about = append(about, terminal.Wrap(terminal.Plain(m.note, faint()), width, twoSpaces())...)
	}
	rows := m.list.rows(width, min(limit-len(about), 2*maxShown))
	if len(rows) == 0 {
		rows = []terminal.Line{terminal.Plain("  nothing has these words", faint())}
	}
	return append(rows, about...)
}

func twoSpaces() terminal.Indent { return terminal.Indent{First: spaces(2), Rest: spaces(2)} }

// help describes the keys, and reports whether the note has room in the row of the title.
func (m *menu) help(width int) (text string, fits bool) {
	text = "  Enter " + cmp.Or(m.enter, "chooses") + ", Esc " + cmp.Or(m.escape, "closes")
	if m.note == "" {
		return text, true
	}
	withNote := text + "; " + m.note
	if terminal.TextWidth(asLabel(m.title)+withNote) > width {
		return text, false
	}
	return withNote, true
}

// line takes the editor's place: the title, and the words that narrow.
func (m *menu) line(width int) (row terminal.Line, x int) {
	head := asLabel(m.title) + m.words
	note, _ := m.help(width)
	row = terminal.Line{{Text: terminal.OneLine(head), Style: bold()}, {Text: note, Style: faint()}}
	return terminal.Clip(row, width), min(terminal.TextWidth(head), width-1)
}
