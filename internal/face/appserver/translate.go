package appserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// translator turns the events of a session, in order, into notifications. It
// is pure: what it says follows from the state that it began with and the
// events.
//
//	turn.started ─► turn/started ─► item/started ─► deltas ─► item/completed ─► turn/completed
//
// A call is shown when its arguments are complete, a change of files when its
// changes are known: when somebody is asked about it, or when it has ended.
// What was shown is completed before its turn is.
type translator struct {
	thread string
	window int // of the model, in tokens; 0 if unknown
	log    *transcript.Transcript
	status threadStatus

	// shown are the items of the running turn that clients know, and begun
	// those whose reasoning has said something.
	shown map[string]itemKind
	begun map[string]bool
}

// newTranslator begins with a session that does nothing.
func newTranslator(state event.State) *translator {
	return &translator{
		thread: state.Session, log: transcript.New(state, transcript.Live), status: threadStatus{Type: "idle"},
		shown: map[string]itemKind{}, begun: map[string]bool{},
	}
}

// step takes the next event, and returns what there is to say about it.
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

// notes says what a change means.
func (t *translator) notes(c transcript.Change) []note {
	switch {
	case c.Thing == transcript.Item:
		return t.itemChanged(c)
	case c.Thing == transcript.Turn && c.What == transcript.Started:
		return append(t.activeNotes(), note{"turn/started", turnNote{t.thread, t.turn(c.Turn.ID, notLoaded)}})
	case c.Thing == transcript.Turn && c.What == transcript.Ended:
		return t.turnEnded(c)
	case c.Thing == transcript.Input && c.What == transcript.Ended && c.Turn != nil:
		m := messageOf(*c.Input)
		return []note{t.begins(c, m), t.ends(c, m)}
	case c.Event.Kind() == event.KindInputHeld:
		return []note{{"warning", warningNote{&t.thread, "What was said last waits: it will be taken along by the next turn."}}}
	case c.Thing == transcript.Attempt && c.What == transcript.Ended:
		return t.attemptEnded(c)
	case c.Thing == transcript.Approval && c.What == transcript.Started:
		return append(t.show(c, c.Approval.Detail), t.activeNotes()...)
	case c.Thing == transcript.Approval:
		return t.activeNotes()
	}
	return nil
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

// statusNotes says the thread's status, if it is another one.
func (t *translator) statusNotes(s threadStatus) []note {
	same := s.Type == t.status.Type && (s.ActiveFlags == nil) == (t.status.ActiveFlags == nil) &&
		(s.ActiveFlags == nil || slices.Equal(*s.ActiveFlags, *t.status.ActiveFlags))
	if same {
		return nil
	}
	t.status = s
	return []note{{"thread/status/changed", statusNote{t.thread, s}}}
}

// activeNotes says that a turn runs, and whether it waits for somebody.
func (t *translator) activeNotes() []note {
	flags := []string{}
	if r := t.state().Running(); r != nil && slices.ContainsFunc(r.Approvals, func(a *event.Approval) bool { return a.Ended == nil }) {
		flags = append(flags, "waitingOnApproval")
	}
	return t.statusNotes(threadStatus{Type: "active", ActiveFlags: &flags})
}

func (t *translator) begins(c transcript.Change, item any) note {
	return note{"item/started", itemNote{ThreadID: t.thread, TurnID: c.Turn.ID, Item: item, StartedAtMs: milliseconds(c.Event.At)}}
}

func (t *translator) ends(c transcript.Change, item any) note {
	return note{"item/completed", itemNote{ThreadID: t.thread, TurnID: c.Turn.ID, Item: item, CompletedAtMs: milliseconds(c.Event.At)}}
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
	delta := deltaNote{ThreadID: t.thread, TurnID: c.Turn.ID, ItemID: c.Item.ID, Delta: c.Text}
	switch kind := t.shown[c.Item.ID]; {
	case c.Stream == event.Text && kind == says:
		return []note{{"item/agentMessage/delta", delta}}
	case c.Stream == event.Text && kind == thinks:
		return t.reasoningNotes(delta)
	case c.Stream == event.Output && kind == runs:
		return []note{{"item/commandExecution/outputDelta", delta}}
	}
	return nil
}

func (t *translator) reasoningNotes(d deltaNote) []note {
	var out []note
	if !t.begun[d.ItemID] {
		t.begun[d.ItemID] = true
		out = append(out, note{"item/reasoning/summaryPartAdded", summaryPartNote{ThreadID: d.ThreadID, TurnID: d.TurnID, ItemID: d.ItemID}})
	}
	d.SummaryIndex = new(int)
	return append(out, note{"item/reasoning/summaryTextDelta", d})
}

func (t *translator) itemEnded(c transcript.Change) []note {
	if c.Item.Type() == event.ToolCall && !c.Item.Ready {
		return nil // clients never saw it
	}
	item := t.view(c.Turn.ID).item(c.Item, nil)
	if item == nil {
		return nil
	}
	var out []note
	if call := c.Call(); call.Kind == toolview.Plan && c.Item.Status == event.ItemCompleted {
		out = append(out, note{"turn/plan/updated", planNoteOf(t.thread, c.Turn.ID, call.Plan)})
	}
	switch change, isChange := item.(fileChange); {
	case isChange && t.shown[c.Item.ID] == hidden:
		change.Status = inProgress
		out = append(out, t.begins(c, change))
	case isChange:
		out = append(out, note{"item/fileChange/patchUpdated", patchNote{t.thread, c.Turn.ID, c.Item.ID, change.Changes}})
	}
	return append(out, t.ends(c, item))
}

func (t *translator) attemptEnded(c transcript.Change) []note {
	d := c.Attempt.End
	var out []note
	if d.Usage != (event.Usage{}) {
		out = append(out, note{"thread/tokenUsage/updated", usageNote{t.thread, c.Turn.ID, usage{tokensSpent(*c.State), tokensOf(d.Usage), ptr(t.window)}}})
	}
	if d.Failure != nil && d.RetryIn != nil {
		err := failed(d.Failure)
		err.Message = fmt.Sprintf("%s; trying again in %s", err.Message, (time.Duration(*d.RetryIn) * time.Millisecond).Round(100*time.Millisecond))
		out = append(out, note{"error", errorNote{t.thread, c.Turn.ID, *err, true}})
	}
	return out
}

// tokensSpent is what all attempts of the thread took together.
func tokensSpent(state event.State) tokens {
	var sum event.Usage
	for _, turn := range state.Turns {
		for _, a := range turn.Attempts {
			if a.End != nil {
				sum = sum.Add(a.End.Usage)
			}
		}
	}
	return tokensOf(sum)
}

func tokensOf(u event.Usage) tokens {
	return tokens{u.Input + u.Output, u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning}
}

func (t *translator) turnEnded(c transcript.Change) []note {
	clear(t.shown)
	clear(t.begun)
	turn := t.turn(c.Turn.ID, summary)
	if turn.Status != "failed" {
		return append(t.statusNotes(threadStatus{Type: "idle"}), note{"turn/completed", turnNote{t.thread, turn}})
	}
	out := t.statusNotes(threadStatus{Type: "systemError"})
	if turn.Error != nil {
		out = append(out, note{"error", errorNote{t.thread, turn.ID, *turn.Error, false}})
	}
	return append(out, note{"turn/completed", turnNote{t.thread, turn}})
}

func (t *translator) turn(id string, items itemsView) turn {
	return t.view(id).turnOf(items)
}
