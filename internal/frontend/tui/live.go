package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"

	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/markdown"
)

const (
	// mostQueue is how many inputs that wait are shown, mostCalls how many calls.
	mostQueue = 4
	mostCalls = 6
	// mostOpen is how many bytes of a block that grows are laid out: of a longer
	// one, its end.
	mostOpen = 4 << 10
)

// frame is the live region: what still changes, what waits, the status and the
// editor. The editor is last, since the terminals that wrap rows anew agree best
// about what is above the cursor.
func (f *Face) frame(now time.Time) terminal.Frame {
	width, _ := f.screen.Size()
	room := f.screen.Live()
	editor, x, y := f.editorRows(width, max(min(room/3, 10), 1))
	status := f.status(width, now)
	room -= len(editor) + len(status) + 1
	var queue, ask, live, choices []terminal.Line
	switch {
	case f.menu != nil:
		choices = f.menu.rows(width, max(room-4, 1))
	case f.completion != nil:
		choices = f.completion.list.rows(width, min(mostShown, room/2))
	}
	room -= len(choices)
	if room > 3 {
		ask = f.askRows(width)
		queue = append(f.queueRows(width), f.fetchRows(width)...)
		room -= len(ask) + len(queue)
	}
	if room > 0 {
		live = f.liveRows(width, min(room, max(f.screen.Live()/3, 3)), now)
	}
	rows := append(live, ask...)
	rows = append(append(append(append(rows, queue...), choices...), nil), status...)
	y += len(rows)
	return terminal.Frame{Rows: append(rows, editor...), X: x, Y: y}
}

// liveRows are the end of what grows, what is held, and the calls that run: at most
// room of them. What is held and does not fit is committed.
func (f *Face) liveRows(width, room int, now time.Time) []terminal.Line {
	calls := f.callRows(width, now)
	if len(calls) > 0 && f.out.gapBeforeCalls() {
		calls = append([]terminal.Line{nil}, calls...)
	}
	calls = calls[:min(len(calls), room)]
	room -= len(calls)
	for len(f.out.textRows(width, room)) > room {
		e, ok := f.out.spill()
		if !ok {
			break
		}
		f.commit(e)
	}
	text := f.out.textRows(width, everyRow)
	return append(text[max(len(text)-room, 0):], calls...)
}

// gapBeforeCalls reports whether something else than a call is above them.
func (p *printout) gapBeforeCalls() bool {
	return p.shown > 0 && p.last != ofCall || slices.ContainsFunc(p.pieces, func(x *piece) bool { return x.kind != event.ToolCall })
}

// callRows are the calls that have not been committed.
func (f *Face) callRows(width int, now time.Time) (calls []terminal.Line) {
	running := 0
	for _, p := range f.out.pieces {
		if p.kind != event.ToolCall || p.done && len(p.entries) == 0 {
			continue
		}
		if running++; running <= mostCalls {
			calls = append(calls, p.callRow(width, now))
		}
		if lines, _ := terminal.LastLines(p.tail, 3); running == 1 && p.runs && !p.done {
			for _, line := range lines {
				calls = append(calls, terminal.Clip(terminal.Plain("  │ "+line, faint()), width))
			}
		}
	}
	for _, c := range f.state().Children {
		if c.Background() && c.Ended == nil { // since when, not for how long: nothing draws while all is idle
			calls = append(calls, terminal.Clip(terminal.Plain(fmt.Sprintf("  agent %s works since %s: %s", c.Child, c.At.Local().Format(time.TimeOnly), terminal.Text(c.Title)), faint()), width))
		}
	}
	if running > mostCalls {
		calls = append(calls, terminal.Plain(fmt.Sprintf("  and %d more calls", running-mostCalls), faint()))
	}
	return calls
}

// everyRow is how many rows textRows returns to whom needs all of them.
const everyRow = 1 << 30

// textRows are what is held, and the end of what grows. Once they are more than most,
// it leaves the rest out.
func (p *printout) textRows(width, most int) (rows []terminal.Line) {
	last, shown := p.last, p.shown > 0
	add := func(e entry, more []terminal.Line) {
		if len(more) == 0 {
			return
		}
		if shown && (e.gap || e.group != last) {
			rows = append(rows, nil)
		}
		rows, last, shown = append(rows, more...), e.group, true
	}
	for _, one := range p.pieces {
		if one.kind != event.ToolCall {
			for _, e := range one.entries {
				if len(rows) > most {
					return rows
				}
				add(e, e.rows(width))
			}
		}
		switch {
		case one.done:
		case one.kind == event.Message:
			b := one.text.Open()
			add(entry{group: ofMessage, gap: b.First}, openRows(p.renderer, b, width))
		case one.kind == event.Reasoning:
			add(entry{group: ofThought}, []terminal.Line{thinkingRow(one, width)})
		}
	}
	return rows
}

// openRows are the rows of a block that still grows.
func openRows(r *markdown.Renderer, b markdown.Block, width int) []terminal.Line {
	if strings.TrimSpace(b.Text) == "" {
		return nil
	}
	if len(b.Text) > mostOpen {
		text := strings.ToValidUTF8(b.Text[len(b.Text)-mostOpen:], "")
		return paragraph("", text, terminal.Style{}, terminal.Style{})(width)
	}
	return r.Rows(b, width)
}

func thinkingRow(p *piece, width int) terminal.Line {
	lines, _ := terminal.LastLines(p.tail, 1)
	words := "✻ thinking"
	if len(lines) > 0 {
		words += ": " + lines[0]
	}
	return terminal.Clip(terminal.Plain(words, faint()), width)
}

// callRow is a call that has not been committed: it is being written, waits,
// runs, or has ended before one that began earlier.
func (p *piece) callRow(width int, now time.Time) terminal.Line {
	mark, style, how := "○", faint(), ""
	switch {
	case p.done:
		mark, style, how = "●", good(), "ended"
	case p.runs:
		mark, style = "●", lively()
		if took := now.Sub(p.began); took >= time.Second {
			how = span(took.Truncate(time.Second))
		}
	}
	line := terminal.Line{{Text: mark + " ", Style: style}, {Text: terminal.OneLine(p.title)}}
	if how == "" {
		return terminal.Clip(line, width)
	}
	return append(terminal.Clip(line, max(width-len(how)-2, 4)), terminal.Span{Text: "  " + how, Style: faint()})
}

// askRows are the answers to the question that waits; the question itself has
// been committed, whole.
func (f *Face) askRows(width int) []terminal.Line {
	a, more := f.asked()
	if a == nil {
		return nil
	}
	text := "Allow " + terminal.OneLine(a.Title) + "?"
	if a.Form != nil {
		text = asker.Headline(a.ApprovalRequested)
	}
	head := terminal.Line{{Text: text, Style: warned().With(terminal.Bold)}}
	if more > 0 {
		head = append(head, terminal.Span{Text: fmt.Sprintf("  (%d more wait)", more), Style: faint()})
	}
	key := ""
	if !f.editor.empty() {
		key = "Alt-"
	}
	choices := fmt.Sprintf("%sy once  %ss for the session  %sn no", key, key, key)
	switch form := f.fill(); {
	case form != nil:
		choices = terminal.OneLine(form.entry.Prompt()) + "  Enter takes it  Alt-n decline"
	case a.Form != nil && a.Form.URL != "":
		choices = fmt.Sprintf("%sy I have opened it  %sn decline", key, key)
	case a.Form != nil:
		choices = fmt.Sprintf("%sy fill it in  %sn decline", key, key)
	}
	if f.state().Running() != nil { // else a child in the background asks
		choices += "  Esc ends the turn"
	}
	return append([]terminal.Line{terminal.Clip(head, width)}, terminal.Wrap(terminal.Plain(choices, bold()), width, terminal.Indent{})...)
}

// asked returns the approval that waits longest, and how many wait behind it.
func (f *Face) asked() (first *event.Approval, more int) {
	for _, a := range f.state().Asked() {
		switch {
		case f.answered[a.Approval]:
		case first == nil:
			first = a
		default:
			more++
		}
	}
	return first, more
}

// queueRows are the inputs that wait.
func (f *Face) queueRows(width int) (rows []terminal.Line) {
	waiting := f.state().Waiting
	for n, in := range waiting {
		if n == mostQueue {
			rows = append(rows, terminal.Plain(fmt.Sprintf("  and %d more", len(waiting)-n), faint()))
			break
		}
		when := waitsFor(&in)
		rows = append(rows, terminal.Clip(terminal.Line{{Text: "↳ " + when + ": ", Style: faint()}, {Text: terminal.OneLine(typed(&in))}}, width))
	}
	if len(rows) > 0 {
		rows = append(rows, terminal.Clip(terminal.Plain("  Alt-↑ takes the last one back into the editor, /queue shows all", faint()), width))
	}
	return rows
}

func (f *Face) editorRows(width, height int) (rows []terminal.Line, x, y int) {
	if f.menu != nil {
		row, x := f.menu.line(width)
		return []terminal.Line{row}, x, 0
	}
	if f.search == nil {
		return f.editor.frame(width, height)
	}
	head := "search: " + f.search.words
	found := terminal.Line{{Text: head}, {Text: "  " + terminal.OneLine(f.search.found), Style: faint()}}
	return []terminal.Line{terminal.Clip(found, width)}, min(terminal.TextWidth(head), width-1), 0
}

// status is what goes on, in a row: only while something does it has a clock.
func (f *Face) status(width int, now time.Time) []terminal.Line {
	var line terminal.Line
	add := func(text string, style terminal.Style) {
		if len(line) > 0 {
			line = append(line, terminal.Span{Text: " · ", Style: faint()})
		}
		line = append(line, terminal.Span{Text: terminal.OneLine(text), Style: style})
	}
	if mode := f.vi.mode(); mode != "" {
		add(mode, bold())
	}
	if f.hint != "" {
		add(f.hint, warned())
	} else if doing, style := f.doing(now); doing != "" {
		add(doing, style)
	}
	for _, part := range f.about() {
		add(part, faint())
	}
	return []terminal.Line{terminal.Clip(line, width)}
}

// doing says what the running turn does.
func (f *Face) doing(now time.Time) (string, terminal.Style) {
	t := f.state().Running()
	switch {
	case f.leaving && hostOf(f.conversation) != "":
		return "leaving", warned()
	case f.leaving:
		return "ending everything", warned()
	case t == nil:
		return "", faint()
	case t.Interrupt != nil || f.interrupting == t.ID:
		return "interrupting", warned()
	}
	if n := len(t.Attempts); n > 0 {
		if a := t.Attempts[n-1]; a.End != nil && a.End.RetryIn != nil {
			left := a.EndedAt.Add(time.Duration(*a.End.RetryIn) * time.Millisecond).Sub(now)
			return fmt.Sprintf("retrying in %s (Esc interrupts)", span(max(left.Round(time.Second), 0))), warned()
		}
	}
	if took := now.Sub(t.StartedAt).Truncate(time.Second); took >= time.Second {
		return "working " + span(took) + " (Esc interrupts)", lively()
	}
	return "working (Esc interrupts)", lively()
}

// about says what the session works with.
func (f *Face) about() []string {
	var about []string
	if host := hostOf(f.conversation); host != "" && !f.gone {
		about = append(about, "attached to "+host)
	}
	about = append(about, f.conversation.Model())
	if effort := f.conversation.Effort(); effort != "" {
		about = append(about, effort+" effort")
	}
	mode := f.conversation.Mode()
	if words, ok := modes()[mode]; ok {
		mode = words
	}
	about = append(about, mode)
	if used := f.used(); used > 0 {
		if window := f.conversation.Window(); window > 0 {
			about = append(about, fmt.Sprintf("context %d%%", used*100/int64(window)))
		} else {
			about = append(about, terminal.Tokens(used)+" tokens of context")
		}
	}
	if jobs := f.jobs(); jobs > 0 {
		about = append(about, terminal.Count(jobs, "job"))
	}
	return append(about, f.Place)
}

// modes are what may run without asking, in words.
func modes() map[string]string {
	return map[string]string{"ask": "asks before changes", "accept-edits": "edits without asking", "read-only": "read-only", "allow": "runs without asking"}
}

// used is how many tokens the last response left in the context.
func (f *Face) used() int64 {
	turns := f.state().Turns
	for n := len(turns) - 1; n >= 0; n-- {
		for m := len(turns[n].Attempts) - 1; m >= 0; m-- {
			if end := turns[n].Attempts[m].End; end != nil && end.Usage.Input > 0 {
				return end.Usage.Total()
			}
		}
	}
	return 0
}

func (f *Face) jobs() (n int) {
	for _, j := range f.state().Jobs {
		if j.Ended == nil {
			n++
		}
	}
	return n
}
