package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/proc/pdf"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/markdown"
	"github.com/settle-agent/settle/tool/ask"
	"github.com/settle-agent/settle/tool/plan"
)

// group keeps entries together: an empty row separates entries of different groups, and
// precedes an entry with a gap.
type group string

const (
	ofInput   group = "input"
	ofMessage group = "message"
	ofThought group = "thought"
	ofCall    group = "call"
	ofNotice  group = "notice"
	ofAsk     group = "ask"
	ofEnding  group = "ending"
)

// entry is a part of the log that will not change any more.
type entry struct {
	group group
	gap   bool // an empty row before it, also within its group
	// rows returns the entry's rows at a width. They must depend on nothing else.
	rows func(width int) []terminal.Line
	text string // of a block of a message
	look *look  // of a call that only looked
}

// The styles of settle's own texts.
func faint() terminal.Style   { return terminal.Style{Attr: terminal.Faint} }
func bold() terminal.Style    { return terminal.Style{Attr: terminal.Bold} }
func success() terminal.Style { return terminal.Style{Color: terminal.Green} }
func failure() terminal.Style { return terminal.Style{Color: terminal.Red} }
func warning() terminal.Style { return terminal.Style{Color: terminal.Yellow} }
func accent() terminal.Style  { return terminal.Style{Color: terminal.Cyan} }

// spaces returns an empty indent.
func spaces(n int) terminal.Line { return terminal.Plain(strings.Repeat(" ", n), terminal.Style{}) }

// linked is a line in one style, with links on its web addresses.
func linked(text string, style terminal.Style) terminal.Line {
	return terminal.Linked(terminal.Plain(text, style))
}

// paragraph wraps a text of several lines behind a mark.
func paragraph(mark, text string, markStyle, style terminal.Style) func(int) []terminal.Line {
	text = strings.TrimRight(text, "\n ")
	return func(width int) (rows []terminal.Line) {
		indent := terminal.Indent{First: terminal.Plain(mark, markStyle), Rest: spaces(terminal.TextWidth(mark))}
		for line := range strings.SplitSeq(text, "\n") {
			rows = append(rows, terminal.Wrap(linked(line, style), width, indent)...)
			indent.First = indent.Rest
		}
		return rows
	}
}

// notice is a message of settle about an event.
func notice(style terminal.Style, format string, args ...any) entry {
	return entry{group: ofNotice, rows: paragraph("· ", terminal.OneLine(fmt.Sprintf(format, args...)), style, style)}
}

// commandEntry is a command for the person's shell, on a row of its own below a title: it can be
// copied whole.
func commandEntry(title, command string) entry {
	text := title + "\n" + terminal.OneLine(command)
	return entry{group: ofEnding, gap: true, rows: paragraph("", text, faint(), faint())}
}

// maxExhaustRows bounds the rows of exhaustEntry.
const maxExhaustRows = 2

// exhaustEntry states that the retries of a turn are exhausted, with the mark of the line that other
// frontends write for programs.
func exhaustEntry(t *event.Turn, f *event.Failure) entry {
	line := stdio.ExhaustMark + terminal.Count(max(1, f.Attempt), "attempt")
	if n := len(t.Attempts) - f.Attempt; f.Attempt > 0 && n >= 0 {
		line += " in " + terminal.Duration(t.EndedAt.Sub(t.Attempts[n].StartedAt))
	}
	line = terminal.OneLine(line + ", last: " + f.Message)
	return entry{group: ofNotice, gap: true, rows: func(width int) []terminal.Line {
		shown := terminal.Plain(terminal.Short(line, maxExhaustRows*width), faint())
		rows := terminal.Break(shown, width, terminal.Indent{})
		return rows[:min(len(rows), maxExhaustRows)]
	}}
}

// maxInput is the number of shown rows of a message of the person. Of a longer one, the last lastInput rows
// are among them.
const (
	maxInput  = 40
	lastInput = 10
)

// shortInput is inputEntry with the first and the last rows of a long message. The transcript (Ctrl-T) has
// all of it.
func shortInput(in *event.Input, all string) entry {
	e := inputEntry(in)
	allRows := e.rows
	e.rows = func(width int) []terminal.Line {
		rows := allRows(width)
		left := len(rows) - maxInput
		if left <= 1 { // its row has room for it
			return rows
		}
		short := append(slices.Clone(rows[:maxInput-lastInput]), leftOut(bandMark, left, all, width))
		return append(short, rows[len(rows)-lastInput:]...)
	}
	return e
}

func inputEntry(in *event.Input) entry {
	if in.By == event.Resumer {
		return entry{group: ofInput, gap: true, rows: paragraph("· ", transcript.ResumedWords(in), faint(), faint())}
	}
	text := transcript.Typed(in)
	for n, i := range in.Images {
		text += fmt.Sprintf("\n[image %d: %s, %d bytes]", n+1, i.MediaType, len(i.Data))
	}
	for n, d := range in.Documents {
		text += fmt.Sprintf("\n[PDF %d: %s, %s, %d bytes]", n+1, d.Name, pdf.Pages(d.Pages), len(d.Data))
	}
	return entry{group: ofInput, gap: true, rows: band(strings.TrimLeft(strings.TrimRight(text, "\n "), "\n"))}
}

// bandMark stands before each row of a message of the person. It needs no color, and no
// background that the terminal would wrap when it becomes narrower.
const bandMark = "▌ "

// band wraps a message of the person.
func band(text string) func(int) []terminal.Line {
	mark := terminal.Plain(bandMark, accent().With(terminal.Bold))
	indent := terminal.Indent{First: mark, Rest: mark}
	return func(width int) (rows []terminal.Line) {
		for line := range strings.SplitSeq(text, "\n") {
			rows = append(rows, terminal.Wrap(linked(line, bold()), width, indent)...)
		}
		return rows
	}
}

// blockEntry is a block of a message. It keeps its rows, since it is shown in each
// frame while it is held.
func blockEntry(r *markdown.Renderer, b markdown.Block) entry {
	var rows []terminal.Line
	laid := 0
	return entry{group: ofMessage, gap: b.First, text: b.Text, rows: func(width int) []terminal.Line {
		if laid != width {
			rows, laid = r.Rows(b, width), width
		}
		return rows
	}}
}

// thoughtEntry is one row for the model's reasoning; the transcript (Ctrl-T) has all of it.
func thoughtEntry(i *event.Item) entry {
	text := i.Content().Text
	words := "thought for " + span(i.EndedAt.Sub(i.BegunAt))
	if head := headline(text); head != "" {
		words += ": " + head
	}
	return entry{group: ofThought, rows: func(width int) []terminal.Line {
		return []terminal.Line{terminal.Clip(terminal.Plain("✻ "+words, faint()), width)}
	}}
}

// headline is the first line of a thought, without its marks.
func headline(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.Trim(terminal.OneLine(line), "*#_ "); line != "" {
			return line
		}
	}
	return ""
}

// span formats a duration for people.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", max(d.Milliseconds(), 0))
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// title describes a call in one line, with the spaces of a command.
func title(c toolview.Call) string { return strings.ReplaceAll(describe(c), "\n", " ") }

func describe(c toolview.Call) string {
	switch c.Kind {
	case toolview.Command:
		line, rest, more := strings.Cut(strings.TrimSpace(c.Command), "\n")
		if more {
			line += fmt.Sprintf(" (and %s)", terminal.Count(strings.Count(rest, "\n")+1, "more line"))
		}
		return "$ " + line
	case toolview.Read:
		return "read " + c.Path
	case toolview.Search:
		if c.Path != "" {
			return c.Tool + " " + c.Pattern + " in " + c.Path
		}
		return c.Tool + " " + c.Pattern
	case toolview.List:
		return "list " + c.Path
	case toolview.Web:
		return "search the web for " + c.Pattern
	case toolview.Edit:
		return c.Tool + " " + changedFiles(c.Dir, c.Changes(nil))
	case toolview.Plan:
		return c.Plan.Title()
	}
	if c.Tool == plan.ProposeName {
		return terminal.OneLine(plan.Proposal{Plan: plan.ProposalOf(string(c.Arguments))}.Title())
	}
	if c.Tool == ask.Name {
		return terminal.OneLine("asked: " + ask.Title(c.Arguments))
	}
	if c.Title != "" {
		return terminal.OneLine(c.Title)
	}
	return terminal.OneLine(c.Tool + " " + string(c.Arguments))
}

func relative(dir, path string) string {
	if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/"); ok {
		return rest
	}
	return path
}

// maxOutput is the number of lines of a command's output that stay on the screen: its first and its
// last ones. The transcript (Ctrl-T) has all lines. maxOther is the same for other tools.
const (
	maxOutput = 7
	maxOther  = 3
)

// callEntry is a call that has ended, with the ends of its output or its changes. A change
// that a question has shown is not shown again.
func callEntry(s event.State, t *event.Turn, i *event.Item, drawn []toolview.Change, all string) entry {
	content, dir := i.Content(), s.Host.Dir
	call := toolview.New(content.Name, content.RanWith(), dir)
	if isEntered(t, i) {
		return enteredEntry(i, content, call, all)
	}
	mark, style, how := outcome(i, content, s.Holds(t, i))
	how += changedBy(i) + approvedBy(t, i)
	var body func(int) []terminal.Line
	changes := call.Changes(content.Detail)
	switch {
	case call.Kind == toolview.Edit && i.Status == event.ItemCompleted && toolview.SameChanges(changes, drawn):
		how = "  " + totalsOf(changes) + ", " + strings.TrimSpace(how)
	case call.Kind == toolview.Edit && i.Status == event.ItemCompleted:
		body = func(width int) []terminal.Line { return changeRows(changes, dir, width, maxDiff, all) }
	case call.Kind == toolview.Plan && i.Status == event.ItemCompleted:
		body = planRows(call.Plan)
	case i.Denial != nil && i.Status == event.ItemFailed:
		_, why := transcript.Denial(i)
		body = outputRows(why, 3, all)
	case i.Status == event.ItemCompleted && call.Tool == ask.Name:
		body = answeredRows(content, all)
	case i.Status == event.ItemFailed && call.Kind != toolview.Command,
		call.Kind == toolview.Misc,
		call.Kind == toolview.Web:
		body = outputRows(content.Output, maxOther, all)
	case call.Kind == toolview.Command, call.Kind == toolview.Job:
		body = outputRows(content.Output, maxOutput, all)
	}
	head := terminal.Line{{Text: title(call), Style: bold()}, {Text: how, Style: faint()}}
	return entry{group: ofCall, look: lookOf(i, call), rows: func(width int) []terminal.Line {
		indent := terminal.Indent{First: terminal.Plain(mark+" ", style), Rest: spaces(4)}
		rows := terminal.Wrap(head, width, indent)
		if body != nil {
			rows = append(rows, body(width)...)
		}
		return rows
	}}
}

// planRows are the steps of a plan.
func planRows(p plan.Arguments) func(int) []terminal.Line {
	return func(width int) (rows []terminal.Line) {
		for _, s := range p.Plan {
			style := stepStyle(s)
			indent := terminal.Indent{First: terminal.Plain("  "+s.Mark()+" ", style), Rest: spaces(4)}
			rows = append(rows, terminal.Wrap(terminal.Plain(terminal.OneLine(s.Step), style), width, indent)...)
		}
		return rows
	}
}

// stepStyle is the style of a step of a plan.
func stepStyle(s plan.Step) terminal.Style {
	switch s.Status {
	case plan.Completed:
		return faint()
	case plan.InProgress:
		return bold()
	}
	return terminal.Style{}
}

// outcome describes the end of a call. held reports that the call waits for a person.
func outcome(i *event.Item, content event.Content, held bool) (mark string, style terminal.Style, how string) {
	elapsed := ""
	if i.Started {
		elapsed = span(i.EndedAt.Sub(i.StartedAt))
	}
	switch {
	case i.Status == event.ItemCompleted:
		return "✓", success(), "  " + elapsed
	case i.Status == event.ItemFailed && content.ExitCode != nil:
		return "✗", failure(), fmt.Sprintf("  exit code %d, %s", *content.ExitCode, elapsed)
	case i.Status == event.ItemFailed:
		denied, _ := transcript.Denial(i)
		return "✗", failure(), "  " + cmp.Or(denied, event.EndingWords(event.Failed, ""))
	case held:
		return "■", warning(), "  held: settle asks again when you resume the session, or: settle approvals"
	case i.Effects == event.EffectsNone:
		return "■", warning(), "  not started"
	}
	why := "cut after " + elapsed
	if i.Cause != nil {
		why = transcript.AfterWords(i.Cause, elapsed)
	}
	return "■", warning(), fmt.Sprintf("  %s; effects: %s", terminal.OneLine(why), i.Effects)
}

// maxNote is the maximum number of rows of a note.
const maxNote = 12

// isNote reports whether a line of an output looks like a note of settle, such as "[the sandbox
// denied …]". The end of a note has the advice.
func isNote(line string) bool {
	return len(line) > 2 && line[0] == '[' && line[1] >= 'a' && line[1] <= 'z' && line[len(line)-1] == ']'
}

// outputRow is a line of an output in one row. A note is wrapped.
func outputRow(line, all string, width int) []terminal.Line {
	mark := terminal.Plain("  │ ", faint())
	if !isNote(line) {
		return []terminal.Line{terminal.Clip(append(mark, linked(line, faint())...), width)}
	}
	rows := terminal.Wrap(linked(line, faint()), width, terminal.Indent{First: mark, Rest: mark})
	if left := len(rows) - maxNote; left > 0 {
		rows = append(rows[:maxNote-1], leftOut("  │ ", left+1, all, width))
	}
	return rows
}

// outputRows are the first and the last lines of an output, and a row for the lines between them
// that are left out.
func outputRows(output string, limit int, all string) func(int) []terminal.Line {
	lines, left, last := terminal.BothEnds(output, limit*3/7, limit-limit*3/7)
	if left == 1 { // its row has room for it
		lines, left, last = terminal.BothEnds(output, limit+1, 0)
	}
	return func(width int) (rows []terminal.Line) {
		add := func(lines []string) {
			for _, line := range lines {
				rows = append(rows, outputRow(line, all, width)...)
			}
		}
		add(lines)
		if left > 0 {
			rows = append(rows, leftOut("  │ ", left, all, width))
		}
		add(last)
		return rows
	}
}

// leftOut is the row in place of lines that are left out, and how to see them.
func leftOut(mark string, lines int, all string, width int) terminal.Line {
	words := fmt.Sprintf("%s… %s (%s shows all)", mark, terminal.Count(lines, "more line"), all)
	return terminal.Clip(terminal.Plain(words, faint()), width)
}

// askedChanges are the changes of a question that are drawn instead of its text: all of
// them are known, whole, and hide nothing that the text spells out.
func askedChanges(a *event.Approval, dir string) []toolview.Change {
	if a.Form != nil || toolview.KindOf(a.Tool) != toolview.Edit || strings.Contains(a.Text, "⟨") {
		return nil
	}
	changes := toolview.New(a.Tool, "", dir).Changes(a.Detail)
	for _, c := range changes {
		if c.Cut || c.Diff == "" {
			return nil
		}
	}
	return changes
}

// askedRows are the question about changes: each is drawn with numbers and colors. The
// transcript (Ctrl-T) has the lines of a long change that are left out, unless a child
// agent asks.
func askedRows(a *event.Approval, changes []toolview.Change, dir, all string) func(int) []terminal.Line {
	limit := maxDiff
	if a.Child != "" {
		limit = everyRow
	}
	var links []string
	for line := range strings.SplitSeq(a.Text, "\n") {
		if strings.HasPrefix(line, "  leads to: ") {
			links = append(links, strings.TrimSpace(line))
		}
	}
	return func(width int) []terminal.Line {
		rows := changeRows(changes, dir, width, limit, all)
		for _, line := range links {
			rows = append(rows, askedLine(line, terminal.Style{}, width)...)
		}
		return rows
	}
}

// askedLine returns the rows of a line of a question below its heading.
func askedLine(line string, style terminal.Style, width int) []terminal.Line {
	text := strings.TrimLeft(line, " ")
	return asker.Rows(linked(text, style), 2+len(line)-len(text), width)
}

// askEntry is a question with the whole call: a person must see everything that an approval
// allows. session is the key that allows it for the session.
func askEntry(a *event.Approval, dir, session, all string) entry {
	changes := askedChanges(a, dir)
	var words []string
	if len(changes) == 0 {
		words = append(words, a.Text)
	}
	if why := asker.Reason(a.ApprovalRequested); why != "" {
		words = append(words, why)
	}
	if a.Review != "" {
		words = append(words, a.Review)
	}
	switch {
	case a.Covers == "" || a.Held:
	case a.Once:
		words = append(words, "An approval covers "+a.Covers)
	default:
		words = append(words, session+" (for the session) also allows: "+asker.Scope(a.ApprovalRequested))
	}
	head := "? settle asks before this call"
	if a.Form != nil || asker.IsPlan(a.ApprovalRequested) {
		head = "? " + asker.Headline(a.ApprovalRequested)
	}
	return entry{group: ofAsk, gap: true, rows: func(width int) []terminal.Line {
		rows := asker.Rows(terminal.Plain(head, warning().With(terminal.Bold)), 0, width)
		if len(changes) > 0 {
			rows = append(rows, askedRows(a, changes, dir, all)(width)...)
		}
		var diff diffColors
		for line := range strings.SplitSeq(strings.Join(words, "\n"), "\n") {
			if line == "" && len(words) == 0 {
				break
			}
			rows = append(rows, askedLine(line, diff.style(line), width)...)
		}
		return rows
	}}
}

// answerEntry is the answer that a person gave to a question about a call; false for an answer
// that the call's own row shows, and for none. elsewhere reports that another client gave it.
func answerEntry(t *event.Turn, a *event.Approval, dir string, elsewhere bool) (entry, bool) {
	d := a.Ended
	isOfCall := a.Form == nil && !asker.IsPlan(a.ApprovalRequested)
	switch {
	case d == nil, d.Policy != "":
		return entry{}, false
	case d.Verdict == event.Denied && (elsewhere || isOfCall && a.Child != ""):
	case d.Verdict != event.Approved && d.Verdict != event.ApprovedSession, !isOfCall && !elsewhere:
		return entry{}, false
	}
	words := d.Past() + ": " + askedTitle(t, a, dir)
	switch {
	case elsewhere && a.Form != nil && d.Verdict == event.Denied:
		words = "declined elsewhere: " + a.Title
	case elsewhere && a.Form != nil: // the call's own row has the answers
		words = "answered elsewhere: " + a.Title
	case elsewhere && !isOfCall && d.Verdict != event.Denied:
		words = "answered elsewhere: " + event.PlanWords(d.Permission)
	case elsewhere:
		words = "answered elsewhere: " + words
	}
	words = terminal.OneLine(words)
	return entry{group: ofAsk, rows: func(width int) []terminal.Line {
		return []terminal.Line{terminal.Clip(terminal.Plain("  "+words, faint()), width)}
	}}, true
}

// askedTitle is the title of the call that a question is about, with the arguments that the person
// chose. t is the turn of the call, or nil.
func askedTitle(t *event.Turn, a *event.Approval, dir string) string {
	if t != nil && a.Child == "" {
		if i := t.Item(a.Call); i != nil {
			return title(toolview.New(i.Content().Name, transcript.ApprovalArguments(t, i, a), dir))
		}
	}
	if a.Ended != nil && a.Ended.Arguments != "" {
		return title(toolview.New(a.Tool, a.Ended.Arguments, dir))
	}
	return a.Title
}

// changedBy is a part of a call's row: who changed the call.
func changedBy(i *event.Item) string {
	if who := transcript.Changed(i); who != "" {
		return "  (" + who + ")"
	}
	return ""
}

// diffColors colors the lines of a unified diff within a text, and leaves the text
// unchanged.
type diffColors struct {
	indent string // of the diff; the text before it has none
	begins bool   // the line that names the old file came
	within bool
}

func (d *diffColors) style(line string) terminal.Style {
	text := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(text)]
	switch {
	case !d.within && strings.HasPrefix(text, "--- "):
		d.indent, d.begins = indent, true
		return faint()
	case d.begins && indent == d.indent && strings.HasPrefix(text, "+++ "):
		d.begins, d.within = false, true
		return faint()
	}
	d.begins = false
	sign, ok := strings.CutPrefix(line, d.indent)
	if d.within = d.within && ok && sign != ""; !d.within {
		return terminal.Style{}
	}
	switch sign[0] {
	case '+':
		return success()
	case '-':
		return failure()
	case '@':
		return faint()
	}
	return terminal.Style{}
}

// isEmptyCompaction reports whether the turn should have compacted the history, and had nothing to do.
func isEmptyCompaction(t *event.Turn) bool {
	return t.Start.Purpose == event.Compaction && t.Cause.Outcome == event.Completed &&
		!slices.ContainsFunc(t.Changes, func(c event.Epoch) bool { return c.Change == event.ChangeCompacted })
}

// endEntry is the outcome and the cost of a turn.
func endEntry(t *event.Turn) entry {
	elapsed := span(t.EndedAt.Sub(t.StartedAt))
	words, mark, style := elapsed, "✓ ", success()
	switch {
	case t.Cause.Outcome == event.Failed:
		words, mark, style = terminal.OneLine(t.Cause.Error())+" (after "+elapsed+")", "✗ ", failure()
	case t.Cause.Outcome == event.Aborted && t.Cause.Reason == event.Shutdown && t.Cause.By == user:
		words, mark, style = "you closed the session after "+elapsed, "■ ", warning()
	case t.Cause.Outcome == event.Aborted:
		words = terminal.OneLine(transcript.AfterWords(t.Cause, transcript.Elapsed(t, span)))
		mark, style = "■ ", warning()
	}
	if isEmptyCompaction(t) {
		words = "there was nothing to compact"
	}
	words = strings.Join(append([]string{words}, transcript.SpentIn(t)...), " · ")
	text := faint()
	if t.Cause.Outcome != event.Completed {
		text = style
	}
	return entry{group: ofEnding, gap: true, rows: paragraph(mark, words, style, text)}
}
