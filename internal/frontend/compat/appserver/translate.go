package appserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// translator turns the events of a session, in order, into notifications. It
// is pure: its notifications follow from its first state and the events only.
//
//	turn.started ─► turn/started ─► item/started ─► deltas ─► item/completed ─► turn/completed
//
// A call is shown when its arguments are complete. A file change is shown when its changes
// are known: at its approval request, or at its end. Shown items are completed before
// their turn.
type translator struct {
	thread string
	window int // of the model, in tokens; 0 if unknown
	log    *transcript.Transcript
	status threadStatus

	// shown are the items of the running turn that clients know, and begun the items whose
	// reasoning has text.
	shown map[string]itemKind
	begun map[string]bool
}

// newTranslator begins with a session that does nothing.
func newTranslator(state event.State) *translator {
	return &translator{
		thread: state.Session, log: transcript.New(state, transcript.Live), status: threadStatus{kind: "idle"},
		shown: map[string]itemKind{}, begun: map[string]bool{},
	}
}

// step takes the next event, and returns its notifications.
func (t *translator) step(e event.Event) ([]note, error) {
	changes, err := t.log.Take(e)
	if err != nil {
		return nil, err
	}
	var out []note
	for _, c := range changes {
		out = append(out, t.notes(c)...)
	}
	return out, nil
}

// notes returns the notifications for a change.
func (t *translator) notes(c transcript.Change) []note {
	switch {
	case c.Thing == transcript.Item:
		return t.itemChanged(c)
	case c.Thing == transcript.Turn && c.What == transcript.Started:
		return append(t.activeNotes(), t.note("turn/started", object{"turn": t.turn(c.Turn.ID, notLoaded)}))
	case c.Thing == transcript.Turn && c.What == transcript.Ended:
		return t.turnEnded(c)
	case c.Event.Kind() == event.KindHistoryChanged:
		return t.compacted(c)
	case c.Thing == transcript.Input && c.What == transcript.Ended && c.Turn != nil:
		m := messageOf(*c.Input)
		return []note{t.begins(c, m), t.ends(c, m)}
	case c.Event.Kind() == event.KindInputHeld:
		return []note{t.note("warning", object{"message": "The last input waits: the next turn will run it."})}
	case c.Thing == transcript.Attempt && c.What == transcript.Ended:
		return t.attemptEnded(c)
	case c.Thing == transcript.Approval && c.What == transcript.Started:
		if c.Item == nil { // of a child in the background: its call is over
			return t.waitingNotes()
		}
		return append(t.show(c, c.Approval.Detail), t.activeNotes()...)
	case c.Thing == transcript.Approval:
		return t.waitingNotes()
	}
	return nil
}

// compacted reports that the history was compacted: clients show a line there.
func (t *translator) compacted(c transcript.Change) []note {
	if d, ok := c.Event.Data.(event.HistoryChanged); !ok || d.Change != event.ChangeCompacted {
		return nil
	}
	item := object{"type": "contextCompaction", "id": fmt.Sprintf("compaction-%d", c.Event.Seq)}
	return []note{
		t.begins(c, item),
		t.ends(c, item),
		{"thread/compacted", map[string]string{"threadId": t.thread, "turnId": c.Turn.ID}},
	}
}

func (t *translator) itemChanged(c transcript.Change) []note {
	switch c.What {
	case transcript.Started:
		if c.Item.Type() != event.ToolCall {
			return t.show(c, nil)
		}
	case transcript.Ready:
		if kindOf(c.Item.Content()) != changes {
			return t.show(c, nil)
		}
	case transcript.Grew:
		return t.grew(c)
	case transcript.Ended:
		return t.itemEnded(c)
	}
	return nil
}

func (t *translator) state() event.State { return t.log.State() }

func (t *translator) view(turn string) view { return view{t.state().Host.Dir, t.state().Turn(turn)} }

// statusNotes returns the notification of a changed thread status; nil if the status is the same.
func (t *translator) statusNotes(s threadStatus) []note {
	if s == t.status {
		return nil
	}
	t.status = s
	return []note{statusChanged(t.thread, s)}
}

// activeNotes reports that a turn runs, and whether it waits for an approval.
func (t *translator) activeNotes() []note {
	return t.statusNotes(threadStatus{kind: "active", waits: len(asker.Open(t.state())) > 0})
}

// waitingNotes is activeNotes where perhaps no turn runs, and a child in the
// background waits.
func (t *translator) waitingNotes() []note {
	if t.state().Running() == nil && len(asker.Open(t.state())) == 0 {
		return t.statusNotes(threadStatus{kind: "idle"})
	}
	return t.activeNotes()
}

// note is a notification about the thread.
func (t *translator) note(method string, params object) note {
	params["threadId"] = t.thread
	return note{method, params}
}

// ofTurn is a notification about the turn of a change.
func (t *translator) ofTurn(c transcript.Change, method string, params object) note {
	params["turnId"] = c.Turn.ID
	return t.note(method, params)
}

func (t *translator) begins(c transcript.Change, item object) note {
	return t.ofTurn(c, "item/started", object{"item": item, "startedAtMs": c.Event.At.UnixMilli()})
}

func (t *translator) ends(c transcript.Change, item object) note {
	return t.ofTurn(c, "item/completed", object{"item": item, "completedAtMs": c.Event.At.UnixMilli()})
}

// show shows an item that clients do not know yet.
func (t *translator) show(c transcript.Change, details json.RawMessage) []note {
	item := t.view(c.Turn.ID).item(c.Item, details)
	if item == nil || t.shown[c.Item.ID] != hidden {
		return nil
	}
	t.shown[c.Item.ID] = kindOf(c.Item.Content())
	return []note{t.begins(c, item)}
}

func (t *translator) grew(c transcript.Change) []note {
	if text := c.Notice(); text != "" {
		return []note{t.note("warning", object{"message": text})}
	}
	d := delta{ThreadID: t.thread, TurnID: c.Turn.ID, ItemID: c.Item.ID, Delta: c.Text}
	switch kind := t.shown[c.Item.ID]; {
	case c.Stream == event.Text && kind == says:
		return []note{{"item/agentMessage/delta", d}}
	case c.Stream == event.Text && kind == thinks:
		return t.reasoningNotes(c, d)
	case c.Stream == event.Output && kind == runs:
		return []note{{"item/commandExecution/outputDelta", d}}
	case c.Stream == event.Output && kind == callsServer:
		return []note{
			t.ofTurn(c, "item/mcpToolCall/progress", object{"itemId": d.ItemID, "message": strings.TrimSpace(d.Delta)}),
		}
	}
	return nil
}

func (t *translator) reasoningNotes(c transcript.Change, d delta) []note {
	var out []note
	if !t.begun[d.ItemID] {
		t.begun[d.ItemID] = true
		out = append(out, t.ofTurn(c, "item/reasoning/summaryPartAdded", object{"itemId": d.ItemID, "summaryIndex": 0}))
	}
	d.SummaryIndex = new(int)
	return append(out, note{"item/reasoning/summaryTextDelta", d})
}

func (t *translator) itemEnded(c transcript.Change) []note {
	item := t.view(c.Turn.ID).item(c.Item, nil)
	if item == nil || !isSeen(c.Item) {
		return nil
	}
	var out []note
	if call := c.Call(); call.Kind == toolview.Plan && c.Item.Status == event.ItemCompleted {
		out = append(out, t.ofTurn(c, "turn/plan/updated", planOf(call.Plan)))
	}
	switch isChange := item["type"] == changes; {
	case item["type"] == prompts: // a note is whole when it ends
		out = append(out, t.begins(c, item))
	case isChange && t.shown[c.Item.ID] == hidden:
		begun := maps.Clone(item)
		begun["status"] = inProgress
		out = append(out, t.begins(c, begun))
	case isChange:
		out = append(
			out, t.ofTurn(c, "item/fileChange/patchUpdated", object{"itemId": c.Item.ID, "changes": item["changes"]}),
		)
	}
	return append(out, t.ends(c, item))
}

func (t *translator) attemptEnded(c transcript.Change) []note {
	d := c.Attempt.End
	var out []note
	if d.Usage != (event.Usage{}) {
		out = append(out, t.ofTurn(c, "thread/tokenUsage/updated", object{
			"tokenUsage": object{
				"total":              tokensOf(transcript.Total(*c.State).Usage),
				"last":               tokensOf(d.Usage),
				"modelContextWindow": ptr(t.window),
			},
		}))
	}
	if d.Failure != nil && d.RetryIn != nil {
		err := failed(d.Failure)
		err.Message = fmt.Sprintf(
			"%s; trying again in %s", err.Message,
			(time.Duration(*d.RetryIn) * time.Millisecond).Round(100*time.Millisecond),
		)
		out = append(out, t.ofTurn(c, "error", object{"error": err, "willRetry": true}))
	}
	return out
}

func (t *translator) turnEnded(c transcript.Change) []note {
	clear(t.shown)
	clear(t.begun)
	ended := t.note("turn/completed", object{"turn": t.turn(c.Turn.ID, summary)})
	status, err := turnStatus(c.Turn.Cause)
	if status != didFail {
		return append(t.waitingNotes(), ended)
	}
	return append(
		t.statusNotes(threadStatus{kind: "systemError"}),
		t.ofTurn(c, "error", object{"error": err, "willRetry": false}), ended,
	)
}

func (t *translator) turn(id string, items itemsView) object { return t.view(id).turnOf(items) }
