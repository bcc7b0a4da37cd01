package tui

import (
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/terminal"
)

// Consecutive calls that only looked (reads, searches, lists) are one row:
//
//	✓ read 3 files, searched 1 pattern  a.go, b.go, c.go, func main
//
// Such a run of calls waits, in the live region, until something else follows it, so that its row depends
// only on the order of the log. A single call keeps its own row, and the transcript shows each call.

// look is a read-only call: its kind and its target.
type look struct {
	kind toolview.Kind
	name string
}

// looks reports whether calls of a kind only look.
func looks(kind toolview.Kind) bool {
	return kind == toolview.Read || kind == toolview.Search || kind == toolview.List
}

// lookOf returns the target of a completed read-only call; nil for other calls.
func lookOf(i *event.Item, call toolview.Call) *look {
	if !looks(call.Kind) || i.Status != event.ItemCompleted || i.Attempt == "" || i.Edited {
		return nil
	}
	if call.Kind == toolview.Search {
		return &look{call.Kind, terminal.OneLine(call.Pattern)}
	}
	return &look{call.Kind, terminal.OneLine(relative(call.Dir, call.Path))}
}

// foldLooks makes one entry of each run of looks.
func foldLooks(entries []entry) (out []entry) {
	for len(entries) > 0 {
		n := 0
		for n < len(entries) && entries[n].look != nil {
			n++
		}
		if n > 0 {
			out = append(out, lookEntry(entries[:n]))
		} else {
			n = 1
			out = append(out, entries[0])
		}
		entries = entries[n:]
	}
	return out
}

// lookEntry is one entry for a run of looks.
func lookEntry(run []entry) entry {
	if len(run) == 1 {
		return run[0]
	}
	var counts, names []string
	for _, k := range []struct {
		kind       toolview.Kind
		verb, unit string
	}{
		{toolview.Read, "read ", "file"}, {toolview.List, "listed ", "folder"}, {toolview.Search, "searched ", "pattern"},
	} {
		var seen []string
		for _, e := range run {
			if e.look.kind == k.kind && !slices.Contains(seen, e.look.name) {
				seen = append(seen, e.look.name)
			}
		}
		if len(seen) > 0 {
			counts, names = append(counts, k.verb+terminal.Count(len(seen), k.unit)), append(names, seen...)
		}
	}
	head := terminal.Line{
		{Text: "✓ ", Style: success()},
		{Text: strings.Join(counts, ", "), Style: bold()},
		{Text: "  " + strings.Join(names, ", "), Style: faint()},
	}
	return entry{group: ofCall, rows: func(width int) []terminal.Line {
		return []terminal.Line{terminal.Clip(head, width)}
	}}
}

// looked reports whether the piece is a look that has ended.
func (one *piece) looked() bool {
	return one.done && len(one.entries) == 1 && one.entries[0].look != nil
}

// endsRun reports whether the piece certainly shows something else than a look.
func (one *piece) endsRun() bool {
	switch {
	case len(one.entries) > 0:
		return !one.looked()
	case one.done:
		return false
	}
	return one.kind == event.ToolCall && !looks(toolview.KindOf(one.tool))
}

// run returns the looks with which the pieces begin, and how many pieces they are. Looks that may yet be
// discarded count if held. It is decided if no later look can belong to the run.
func (p *printout) run(held bool) (run []entry, pieces int, decided bool) {
	for n, one := range p.pieces {
		switch {
		case one.looked() && (held || !one.held):
			run, pieces = append(run, one.entries[0]), n+1
		case one.done && len(one.entries) == 0: // nothing is shown of it
		default:
			return run, pieces, one.endsRun() || p.closing || len(p.asks) > 0
		}
	}
	return run, pieces, p.closing || len(p.asks) > 0
}

// takeRun takes the run of looks with which the pieces begin, if it is decided.
func (p *printout) takeRun(held bool) (entry, bool) {
	run, n, decided := p.run(held)
	if !decided || n == 0 {
		return entry{}, false
	}
	for _, one := range p.pieces[:n] {
		if one.held && len(one.entries) > 0 {
			p.draft.spill(one.item, p.draft.hash(one.entries[0].text))
		}
	}
	p.pieces = p.pieces[n:]
	return lookEntry(run), true
}

// lookRows are the looks from a piece on that wait for the end of their run, in one row, and how many pieces
// they are.
func lookRows(pieces []*piece, width int) (row terminal.Line, n int) {
	var run []entry
	for n < len(pieces) && pieces[n].looked() {
		run = append(run, pieces[n].entries[0])
		n++
	}
	if n == 0 {
		return nil, 0
	}
	return lookEntry(run).rows(width)[0], n
}

// closePrintout commits the entries that wait for more of the log.
func (u *UI) closePrintout() {
	u.view.printout.closing = true
	u.commitFinished()
}
