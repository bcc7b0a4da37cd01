package contract

import (
	"strings"

	"github.com/settle-agent/settle/event"
)

// item is a message, reasoning, tool call or note.
type item struct {
	id      string
	kind    event.ItemType
	attempt string
	ready   bool
	started bool
	// volatile reports that the start is not durable, because the journal failed.
	volatile  bool
	torn      bool // the text of a delta is not in the log, which had no room
	ended     bool
	status    event.Status
	discarded bool
	finalText string          // its whole text when it ended
	text      strings.Builder // from its deltas
	args      strings.Builder // from its deltas, until it is ready
	finalArgs string          // arguments when it was ready
	effective string          // arguments that it started with, if a hook changed them
	held      *item           // the held call that it runs, if it runs one
	ranLater  bool            // as the held call of another item
}

func (l *log) itemStarted(t *turn, e event.Event, d event.ItemStarted) {
	if e.Item == "" || t.items[e.Item] != nil {
		l.breaks("C2", "%q is not a new item's id", e.Item)
		return
	}
	i := &item{id: e.Item, kind: d.Type, attempt: e.Attempt}
	t.items[e.Item] = i
	t.order = append(t.order, i)
	switch {
	case e.Attempt == "":
		if d.Type == event.ToolCall {
			l.commandEntered(t, i, d)
		}
	case t.current == nil || t.current.id != e.Attempt:
		l.breaks("C2", "attempt %q is not running", e.Attempt)
	default:
		t.current.items = append(t.current.items, i)
		if (t.current.purpose == event.Compaction) != (d.Type == event.Digest) {
			l.breaks("C21", "item %s is a %s, and attempt %s is for something else", i.id, d.Type, t.current.id)
		}
	}
}

// inItem: C2, an item has one ending, which is its last event.
func (l *log) inItem(t *turn, e event.Event) {
	i := t.items[e.Item]
	if i == nil {
		l.breaks("C2", "item %q did not start", e.Item)
		return
	}
	if i.ended {
		l.breaks("C2", "item %s has ended", i.id)
		return
	}
	switch d := e.Data.(type) {
	case event.ItemDelta:
		l.delta(i, d)
	case event.CallReady:
		l.callReady(i, d)
	case event.CallStarted:
		l.callStarted(t, i, e)
	case event.ItemEnded:
		l.itemEnded(t, i, d)
	}
}

func (l *log) delta(i *item, d event.ItemDelta) {
	i.torn = i.torn || l.now.Volatile && d.Text == ""
	call := i.kind == event.ToolCall
	switch {
	case d.Stream == event.Text && !call:
		i.text.WriteString(d.Text)
	case d.Stream == event.Arguments && call && !i.ready:
		i.args.WriteString(d.Text)
	case d.Stream == event.Output && call && i.volatile:
		l.breaks("C5", "call %s has output, and its start is not durable", i.id)
	case d.Stream == event.Output && call && i.started:
	case d.Stream == event.Output && call:
		l.breaks("C5", "call %s has output, and did not start", i.id)
	default:
		l.breaks("C2", "item %s takes no %s now", i.id, d.Stream)
	}
}

// callReady: C4, the arguments equal the shown deltas, in settle's or the model's form.
func (l *log) callReady(i *item, d event.CallReady) {
	if i.kind != event.ToolCall || i.ready {
		l.breaks("C2", "item %s is not a call that waits for its arguments", i.id)
		return
	}
	i.ready, i.finalArgs = true, d.Arguments
	l.heldReady(i, d)
	arguments := d.Arguments
	if d.Sent != nil {
		if arguments = d.Sent.Arguments; arguments == "" { // only the translator can check this
			return
		}
	}
	if shown := i.args.String(); shown != "" && shown != arguments && !i.torn {
		l.breaks("C4", "the arguments of call %s differ from its deltas", i.id)
	}
}

// callStarted: C5, a call starts once, only when its arguments are complete, and has no
// effects unless its start is durable; C16, each approval was given before.
func (l *log) callStarted(t *turn, i *item, e event.Event) {
	switch {
	case i.kind != event.ToolCall:
		l.breaks("C2", "item %s is not a call", i.id)
		return
	case i.started:
		l.breaks("C5", "call %s started before", i.id)
		return
	case !i.ready:
		l.breaks("C5", "the arguments of call %s are not complete", i.id)
	}
	i.volatile = e.Volatile
	for id, a := range t.approvals {
		if a.call == i.id && !a.granted {
			l.breaks("C16", "approval %s of call %s was not given", id, i.id)
		}
	}
	for id, h := range l.hooks {
		if h.call == i.id && h.turn == t.id && h.mayRefuse() {
			l.breaks("C16", "hook %s of call %s did not let it pass", id, i.id)
		}
	}
	i.started, i.effective = true, l.changed(t, i, e)
	l.heldStarted(i)
	t.summary.Calls++
}

func (l *log) itemEnded(t *turn, i *item, d event.ItemEnded) {
	i.ended, i.status, i.finalText = true, d.Status, d.Text
	if d.Type != i.kind {
		l.breaks("C2", "item %s is a %s, not a %s", i.id, i.kind, d.Type)
	}
	switch d.Status {
	case event.ItemCompleted, event.ItemFailed:
	case event.ItemAborted:
		l.cause(d.Cause, "item "+i.id)
	default:
		l.breaks("C2", "item %s ends as %q", i.id, d.Status)
	}
	l.kept(i, d)
	l.tells(t, i, d)
	if i.kind == event.ToolCall {
		l.callEnded(t, i, d)
	} else if d.Effects != "" {
		l.breaks("C5", "item %s is not a call and has effects %q", i.id, d.Effects)
	}
}

// cause: each aborted entity has an honest cause.
func (l *log) cause(c *event.Cause, what string) {
	switch {
	case c == nil:
		l.breaks("C2", "%s was aborted without a cause", what)
	case c.Outcome == event.Aborted && c.Reason == "", c.Outcome == event.Failed && c.Failure == nil:
		l.breaks("C2", "%s was aborted, and the cause is empty", what)
	case c.Outcome == event.Completed:
		l.breaks("C2", "%s was aborted with the cause completed", what)
	}
}

// kept: C4, streamed text survives to the byte.
func (l *log) kept(i *item, d event.ItemEnded) {
	if shown := i.text.String(); shown != "" && shown != d.Text && !i.torn {
		l.breaks("C4", "the text of item %s differs from its deltas", i.id)
	}
	shown := i.args.String()
	if i.ready {
		shown = i.finalArgs
	}
	if i.kind == event.ToolCall && shown != "" && shown != d.Arguments && (i.ready || !i.torn) {
		l.breaks("C4", "the arguments of call %s differ from the shown deltas", i.id)
	}
}

// callEnded: C5, effects are none only if the call never started; C7, the ending names
// the remaining jobs; C2, the entities of the call have ended.
func (l *log) callEnded(t *turn, i *item, d event.ItemEnded) {
	switch {
	case i.volatile && d.Effects != event.EffectsUnknown:
		l.breaks("C5", "call %s ran, and its start is not durable", i.id)
	case d.Status == event.ItemCompleted && !i.started:
		l.breaks("C5", "call %s completed, and did not start", i.id)
	case (d.Status == event.ItemAborted) != (d.Effects != ""):
		l.breaks("C5", "call %s is %s with effects %q", i.id, d.Status, d.Effects)
	case d.Effects == event.EffectsNone && i.started:
		l.breaks("C5", "call %s started, and has no effects", i.id)
	case d.Effects != "" && d.Effects != event.EffectsNone && !i.started:
		l.breaks("C5", "call %s did not start, and has effects %q", i.id, d.Effects)
	}
	for _, id := range d.Jobs {
		if l.jobs[id] == nil {
			l.breaks("C7", "job %s, which call %s left behind, did not start", id, i.id)
		}
	}
	l.survivors(d.Survivors)
	for id, a := range t.approvals {
		if a.call == i.id && !a.ended {
			l.breaks("C16", "approval %s waits, and its call %s ends", id, i.id)
		}
	}
	for id, c := range l.children {
		if c.turn == t.id && c.call == i.id && !c.ended {
			l.breaks("C18", "child %s is running, and its call %s ends", id, i.id)
		}
	}
	for id, h := range l.hooks {
		if h.turn == t.id && h.call == i.id && !h.ended {
			l.breaks("C2", "hook %s is running, and its call %s ends", id, i.id)
		}
	}
	if d.Effective != i.effective {
		l.breaks("C5", "call %s ran with %q, and its ending says %q", i.id, i.effective, d.Effective)
	}
}

// survivors: C7, the ending names the pid of each surviving process.
func (l *log) survivors(ps []event.Process) {
	for _, p := range ps {
		if p.PID <= 0 {
			l.breaks("C7", "a survivor has the pid %d", p.PID)
		}
	}
}
