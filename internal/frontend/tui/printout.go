package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
	"github.com/settle-agent/settle/internal/terminal/markdown"
	"github.com/settle-agent/settle/tool/plan"
)

// printout makes entries of the changes of a session, in the order in which items start. A
// later item waits for the earlier ones:
//
//	item ─► piece ─► finished entries ─► committed, once all pieces before it are done
//	           └► live: growing text        and no later attempt can replace them
//
// A question does not wait for items, but never splits a message. Of several open questions, one is
// shown at a time: the one whose answers are offered. The entries are the same
// whether a text arrives in deltas or whole. draft handles attempts that fail.
type printout struct {
	renderer   *markdown.Renderer
	all        string // the key or the command that shows the omitted part
	session    string // the key that allows a call for the session
	pieces     []*piece
	asks       []entry // that wait for the end of a message
	questionID string  // the approval whose question was shown last; empty once it has ended
	after      int     // how many entries follow that question on the screen
	// answered, if set, reports whether this terminal answered the question. Other clients can answer it.
	answered func(approval string) bool
	closing  bool // nothing more of the log comes
	// drawnChanges are the changes that questions have shown, by the calls that have not ended.
	drawnChanges map[string][]toolview.Change
	plan         plan.Arguments // that a call of the turn made last
	draft        draft
	last         group
	shown        int // entries that were shown
	// budget is the number of entries that can be made before the next frame: a text can arrive in
	// one piece, and be long.
	budget int
}

// piece is an item, or something else that takes its place among items.
type piece struct {
	item    string
	kind    event.ItemType
	entries []entry // finished and not committed
	done    bool
	held    bool // it may yet be discarded
	repeats bool // so far, the text equals discarded text
	// compared is the number of entries that equal discarded text.
	compared int

	text  markdown.Splitter // of a message
	rest  []string          // of a message, not in text yet
	ends  bool              // nothing comes after rest
	cut   bool              // the text is incomplete
	size  int               // of the reasoning, in bytes
	title string            // of a call
	tool  string            // of a call
	began time.Time         // of the call, or of the item until then
	runs  bool
	tail  string // of a call's output
}

func newPrintout(keys keymap.Map) *printout {
	return &printout{
		all:      keys.Label(keymap.Transcript, "/transcript"),
		session:  keys.Label(keymap.AllowSession, "2"),
		renderer: markdown.NewRenderer(), draft: newDraft(), budget: maxEntries,
		drawnChanges: map[string][]toolview.Change{},
	}
}

// take notes a change.
func (p *printout) take(c transcript.Change) {
	switch c.Thing {
	case transcript.Session:
		p.sessionChanged(c)
	case transcript.Input:
		if c.What == transcript.Ended && c.Turn != nil && !c.Input.Command { // a command's entry replaces its input
			p.add(shortInput(c.Input, p.all))
		}
	case transcript.Turn:
		p.turn(c)
	case transcript.Attempt:
		p.attempt(c)
	case transcript.Item:
		p.itemChanged(c)
	case transcript.Approval:
		if c.What == transcript.Started {
			return
		}
		elsewhere := p.questionID == c.Approval.Approval && p.answered != nil && !p.answered(c.Approval.Approval)
		if p.questionID == c.Approval.Approval {
			p.questionID = ""
		}
		if e, ok := answerEntry(c.Turn, c.Approval, c.State.Host.Dir, elsewhere); ok {
			p.addAsk(e)
		}
	case transcript.Job:
		p.job(c)
	case transcript.Child:
		p.child(c)
	}
}

// asksPerson reports whether a person is asked. A call that the policy denies at once has an
// approval in the log without the text of a question, and its own row has the reason of the denial.
func asksPerson(a *event.Approval) bool { return a.Text != "" || a.Form != nil || a.Child != "" }

// ask shows a question, unless it was shown last. nil is no question.
func (p *printout) ask(a *event.Approval, dir string) {
	if a == nil || a.Approval == p.questionID || !asksPerson(a) {
		return
	}
	p.addAsk(askEntry(a, dir, p.session, p.all))
	p.questionID, p.after = a.Approval, 0
	if changes := askedChanges(a, dir); len(changes) > 0 && a.Child == "" {
		p.drawnChanges[a.Call] = changes
	}
}

// askFirst shows the first question that waits in the state.
func (p *printout) askFirst(s event.State) {
	if open := openQuestions(s); len(open) > 0 {
		p.ask(open[0], s.Host.Dir)
	}
}

// addAsk takes an entry that waits only for the end of a message.
func (p *printout) addAsk(e entry) {
	p.asks = append(p.asks, e)
	p.after++
}

// add takes an entry that is finished.
func (p *printout) add(e ...entry) { p.pieces = append(p.pieces, &piece{entries: e, done: true}) }

func (p *printout) sessionChanged(c transcript.Change) {
	switch d := c.Event.Data.(type) {
	case event.SessionOpened:
		for _, note := range d.Notes {
			p.add(notice(faint(), "%s", note))
		}
	case event.SessionRecovered:
		p.add(notice(warning(), "%s", transcript.RecoveryText(d, c.State)))
	case event.SessionClosed:
		if c.Event.By == event.Taker {
			p.add(notice(warning(), "another process took the session over"))
		}
		if c.State == nil { // an earlier host closed it
			return
		}
		for _, line := range transcript.WorktreeLines(c.State.Host, d.Worktree) {
			p.add(notice(warning(), "%s", line))
		}
	}
}

func (p *printout) turn(c transcript.Change) {
	switch d := c.Event.Data.(type) {
	case event.TurnStarted:
		p.plan = plan.Arguments{}
	case event.HistoryChanged:
		switch d.Change {
		case event.ChangeLeftOut, event.ChangeRestored: // the row of the attempt, or of the turn's end, says it
		default:
			p.add(notice(warning(), "%s", d.Why))
		}
	case event.TurnCompleted, event.TurnAborted, event.TurnFailed:
		if f := c.Turn.Cause.Failure; f != nil && f.Name == event.NameRetryExhausted {
			p.add(exhaustEntry(c.Turn, f))
		}
		if !onlyCommands(c.Turn) {
			p.add(endEntry(c.Turn))
		}
	}
}

// attempt reports a further attempt and the discarded text of this one: rows cannot be
// removed.
func (p *printout) attempt(c transcript.Change) {
	d, ended := c.Event.Data.(event.AttemptEnded)
	if ended && d.RetryIn == nil {
		p.draft = newDraft()
	}
	if !ended || d.RetryIn == nil || d.Failure == nil {
		return
	}
	words := fmt.Sprintf("attempt %d failed: %s", d.Failure.Attempt, d.Failure.Message)
	if *d.RetryIn > 0 {
		words += "; next in " + span(time.Duration(*d.RetryIn)*time.Millisecond)
	}
	if len(p.draft.discarded) > 0 {
		words += "; what it said above is discarded"
	}
	p.add(notice(warning(), "%s", words))
}

// child reports background child agents. A foreground child agent is shown as its call.
func (p *printout) child(c transcript.Change) {
	if c.Child == nil || !c.Child.Background() {
		return
	}
	switch d := c.Event.Data.(type) {
	case event.ChildStarted:
		p.add(notice(faint(), "agent %s works in the background: %s", d.Child, d.Title))
	case event.ChildEnded:
		how := d.Words()
		if d.ElapsedMS > 0 {
			how += " after " + span(time.Duration(d.ElapsedMS)*time.Millisecond)
		}
		p.add(notice(faint(), "agent %s (%s): %s", d.Child, c.Child.Title, how))
	}
}

func (p *printout) job(c transcript.Change) {
	switch d := c.Event.Data.(type) {
	case event.JobStarted:
		p.add(notice(faint(), "job %s keeps running (pid %d): %s", d.Job, d.PID, d.Command))
	case event.JobEnded:
		p.add(notice(faint(), "job %s: %s", d.Job, d.How))
		for _, moved := range d.Quarantined {
			p.add(notice(faint(), "after job %s, settle looked for what git would run: %s", d.Job, moved))
		}
	}
}

func (p *printout) itemChanged(c transcript.Change) {
	if c.What == transcript.Started {
		p.pieces = append(p.pieces, &piece{
			item: c.Event.Item, kind: c.Item.Type(), began: c.Event.At, title: c.Item.Content().Name,
			tool: c.Item.Content().Name,
			held: c.Event.Attempt != "", repeats: c.Item.Type() == event.Message && len(p.draft.discarded) > 0,
		})
		return
	}
	switch c.What {
	case transcript.Committed:
		p.draft.keep(c.Event.Item)
	case transcript.Discarded:
		p.draft.discard(c.Event.Item)
	}
	i := slices.IndexFunc(p.pieces, func(x *piece) bool { return x.item != "" && x.item == c.Event.Item })
	if i < 0 {
		return
	}
	one := p.pieces[i]
	switch c.What {
	case transcript.Committed:
		one.held = false
	case transcript.Discarded:
		one.held, one.entries, one.rest = false, nil, nil
		one.done = one.done || one.ends
	case transcript.Grew:
		p.grew(one, c)
	case transcript.Ready:
		one.title = titleOf(c.Turn, c.Item, c.State.Host.Dir)
	case transcript.Running:
		one.began, one.runs = c.Event.At, true
		one.title = titleOf(c.Turn, c.Item, c.State.Host.Dir) // a hook or the person may have changed the call
	case transcript.Ended:
		p.ended(one, c)
	}
}

func (p *printout) grew(one *piece, c transcript.Change) {
	switch {
	case one.kind == event.Message:
		one.rest = append(one.rest, c.Text)
		p.fill()
	case one.kind == event.Reasoning:
		one.size += len(c.Text)
		one.tail = terminal.Tail(one.tail + c.Text)
	case c.Notice() != "":
		p.add(
			notice(warning(), "%s", c.Notice()),
		) // the notice stays; while the call runs, its tail shows the notice as well
		one.tail = terminal.Tail(one.tail + c.Text)
	case c.Stream == event.Output:
		one.tail = terminal.Tail(one.tail + c.Text)
	}
}

func (p *printout) ended(one *piece, c transcript.Change) {
	one.done, one.tail = one.kind != event.Message, ""
	switch i := c.Item; one.kind {
	case event.Message:
		one.ends, one.cut = true, i.Status == event.ItemAborted && i.Content().Text != ""
		p.fill()
	case event.Reasoning:
		if strings.TrimSpace(i.Content().Text) != "" {
			one.entries = append(one.entries, thoughtEntry(i))
		}
	case event.ToolCall:
		one.entries = append(one.entries, callEntry(*c.State, c.Turn, i, p.drawnChanges[i.ID], p.all))
		delete(p.drawnChanges, i.ID)
		if toolview.KindOf(i.Content().Name) == toolview.Plan && i.Status == event.ItemCompleted {
			p.plan = transcript.CallOf(i, c.State.Host.Dir).Plan
		}
	case event.Note:
		one.entries = append(one.entries, notice(faint(), "message to the model: %s", i.Content().Text))
	}
}

// finished returns the entries that are due to be committed. It must be called after each
// event.
func (p *printout) finished() (out []entry) {
	for len(p.pieces) > 0 && !p.pieces[0].held {
		first := p.pieces[0]
		if first.looked() {
			e, ok := p.takeRun(false)
			if !ok {
				break
			}
			out = append(out, e)
			continue
		}
		out = append(out, first.entries...)
		if first.entries = nil; !first.done {
			break
		}
		p.pieces = p.pieces[1:]
	}
	if len(p.asks) == 0 {
		p.after += len(out)
		return out
	}
	for e, ok := p.spill(); ok; e, ok = p.spill() { // a question follows the text that led to it
		out = append(out, e)
	}
	if len(p.pieces) == 0 || p.pieces[0].kind != event.Message || p.pieces[0].done {
		out, p.asks = append(out, p.asks...), nil
	}
	return out
}

// rows are an entry's, with an empty one before it where it needs one.
func (p *printout) rows(e entry, width int) []terminal.Line {
	rows := e.rows(width)
	if p.shown > 0 && (e.gap || e.group != p.last) {
		rows = append([]terminal.Line{nil}, rows...)
	}
	p.shown, p.last = p.shown+1, e.group
	return rows
}

// blocksOf are the blocks of a whole text.
func blocksOf(text string) []markdown.Block {
	var s markdown.Splitter
	return append(s.Write(text), s.Close()...)
}
