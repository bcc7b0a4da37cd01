package appserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/settle-agent/settle/event"
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
	state  event.State
	status threadStatus

	// shown are the items of the running turn that clients know, and begun
	// those whose reasoning has said something.
	shown map[string]itemKind
	begun map[string]bool
}

// newTranslator begins with a session that does nothing.
func newTranslator(state event.State) *translator {
	return &translator{thread: state.Session, state: state, status: threadStatus{Type: "idle"}, shown: map[string]itemKind{}, begun: map[string]bool{}}
}

// step takes the next event, and returns what there is to say about it.
func (t *translator) step(e event.Event) ([]note, error) {
	state, err := event.Fold(t.state, e)
	if err != nil {
		return nil, fmt.Errorf("cannot follow the session: %w", err)
	}
	t.state = state
	switch d := e.Data.(type) {
	case event.TurnStarted:
		return t.started(e), nil
	case event.AttemptStarted:
		return t.joined(e, d.Inputs), nil
	case event.AttemptEnded:
		return t.attempted(e, d), nil
	case event.ItemStarted:
		if i := t.item(e); i != nil && d.Type != event.ToolCall {
			return t.show(e, i, nil), nil
		}
	case event.CallReady:
		if i := t.item(e); i != nil && kindOf(i.Content()) != changes {
			return t.show(e, i, nil), nil
		}
	case event.ItemDelta:
		return t.delta(e, d), nil
	case event.InputHeld:
		return []note{{"warning", warningNote{&t.thread, "What was said last waits: it will be taken along by the next turn."}}}, nil
	case event.ApprovalRequested:
		return t.asked(e, d), nil
	case event.ApprovalEnded:
		return t.active(), nil
	case event.ItemEnded:
		return t.itemEnded(e, d), nil
	case event.TurnCompleted, event.TurnAborted, event.TurnFailed:
		return t.turnEnded(e), nil
	}
	return nil, nil
}

func (t *translator) item(e event.Event) *event.Item {
	if turn := t.state.Turn(e.Turn); turn != nil {
		return turn.Item(e.Item)
	}
	return nil
}

func (t *translator) view(turn string) view { return view{t.state.Host.Dir, t.state.Turn(turn)} }

// became says the thread's status, if it is another one.
func (t *translator) became(s threadStatus) []note {
	same := s.Type == t.status.Type && (s.ActiveFlags == nil) == (t.status.ActiveFlags == nil) &&
		(s.ActiveFlags == nil || slices.Equal(*s.ActiveFlags, *t.status.ActiveFlags))
	if same {
		return nil
	}
	t.status = s
	return []note{{"thread/status/changed", statusNote{t.thread, s}}}
}

// active says that a turn runs, and whether it waits for somebody.
func (t *translator) active() []note {
	flags := []string{}
	if r := t.state.Running(); r != nil && slices.ContainsFunc(r.Approvals, func(a *event.Approval) bool { return a.Ended == nil }) {
		flags = append(flags, "waitingOnApproval")
	}
	return t.became(threadStatus{Type: "active", ActiveFlags: &flags})
}

func (t *translator) started(e event.Event) []note {
	out := append(t.active(), note{"turn/started", turnNote{t.thread, t.turn(e.Turn, notLoaded)}})
	for _, in := range t.state.Turn(e.Turn).Inputs {
		out = append(out, t.message(e, in)...)
	}
	return out
}

// joined shows the inputs that steer the turn from here on.
func (t *translator) joined(e event.Event, inputs []string) []note {
	turn := t.state.Turn(e.Turn)
	if turn == nil || len(inputs) == 0 {
		return nil
	}
	var out []note
	for _, a := range turn.Attempts {
		if a.ID == e.Attempt {
			for _, in := range a.Inputs {
				out = append(out, t.message(e, in)...)
			}
		}
	}
	return out
}

func (t *translator) message(e event.Event, in event.Input) []note {
	m := heard(in)
	return []note{t.begins(e.Turn, e.At, m), t.ends(e.Turn, e.At, m)}
}

func (t *translator) begins(turn string, at time.Time, item any) note {
	return note{"item/started", itemNote{ThreadID: t.thread, TurnID: turn, Item: item, StartedAtMs: milliseconds(at)}}
}

func (t *translator) ends(turn string, at time.Time, item any) note {
	return note{"item/completed", itemNote{ThreadID: t.thread, TurnID: turn, Item: item, CompletedAtMs: milliseconds(at)}}
}

// show shows an item that clients do not know yet.
func (t *translator) show(e event.Event, i *event.Item, details json.RawMessage) []note {
	item := t.view(e.Turn).item(i, details)
	if item == nil || t.shown[i.ID] != hidden {
		return nil
	}
	t.shown[i.ID] = kindOf(i.Content())
	return []note{t.begins(e.Turn, e.At, item)}
}

func (t *translator) delta(e event.Event, d event.ItemDelta) []note {
	delta := deltaNote{ThreadID: t.thread, TurnID: e.Turn, ItemID: e.Item, Delta: d.Text}
	switch kind := t.shown[e.Item]; {
	case d.Stream == event.Text && kind == says:
		return []note{{"item/agentMessage/delta", delta}}
	case d.Stream == event.Text && kind == thinks:
		return t.thought(delta)
	case d.Stream == event.Output && kind == runs:
		return []note{{"item/commandExecution/outputDelta", delta}}
	}
	return nil
}

func (t *translator) thought(d deltaNote) []note {
	var out []note
	if !t.begun[d.ItemID] {
		t.begun[d.ItemID] = true
		out = append(out, note{"item/reasoning/summaryPartAdded", summaryPartNote{ThreadID: d.ThreadID, TurnID: d.TurnID, ItemID: d.ItemID}})
	}
	d.SummaryIndex = new(int)
	return append(out, note{"item/reasoning/summaryTextDelta", d})
}

// asked shows what somebody is asked about; the asking itself is the thread's.
func (t *translator) asked(e event.Event, d event.ApprovalRequested) []note {
	var out []note
	if i := t.item(e); i != nil {
		out = t.show(e, i, d.Detail)
	}
	return append(out, t.active()...)
}

func (t *translator) itemEnded(e event.Event, d event.ItemEnded) []note {
	i := t.item(e)
	if i == nil || d.Type == event.ToolCall && !i.Ready {
		return nil // clients never saw it
	}
	item := t.view(e.Turn).item(i, nil)
	if item == nil {
		return nil
	}
	var out []note
	switch c, isChange := item.(fileChange); {
	case isChange && t.shown[i.ID] == hidden:
		c.Status = inProgress
		out = append(out, t.begins(e.Turn, e.At, c))
	case isChange:
		out = append(out, note{"item/fileChange/patchUpdated", patchNote{t.thread, e.Turn, i.ID, c.Changes}})
	}
	return append(out, t.ends(e.Turn, e.At, item))
}

func (t *translator) attempted(e event.Event, d event.AttemptEnded) []note {
	var out []note
	if d.Usage != (event.Usage{}) {
		out = append(out, note{"thread/tokenUsage/updated", usageNote{t.thread, e.Turn, usage{t.spent(), counted(d.Usage), ptr(t.window)}}})
	}
	if d.Failure != nil && d.RetryIn != nil {
		err := failed(d.Failure)
		err.Message = fmt.Sprintf("%s; trying again in %s", err.Message, (time.Duration(*d.RetryIn) * time.Millisecond).Round(100*time.Millisecond))
		out = append(out, note{"error", errorNote{t.thread, e.Turn, *err, true}})
	}
	return out
}

// spent is what all attempts of the thread took together.
func (t *translator) spent() tokens {
	var sum event.Usage
	for _, turn := range t.state.Turns {
		for _, a := range turn.Attempts {
			if a.End != nil {
				sum = sum.Add(a.End.Usage)
			}
		}
	}
	return counted(sum)
}

func counted(u event.Usage) tokens {
	return tokens{u.Input + u.Output, u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning}
}

func (t *translator) turnEnded(e event.Event) []note {
	clear(t.shown)
	clear(t.begun)
	turn := t.turn(e.Turn, summary)
	if turn.Status != "failed" {
		return append(t.became(threadStatus{Type: "idle"}), note{"turn/completed", turnNote{t.thread, turn}})
	}
	out := t.became(threadStatus{Type: "systemError"})
	if turn.Error != nil {
		out = append(out, note{"error", errorNote{t.thread, e.Turn, *turn.Error, false}})
	}
	return append(out, note{"turn/completed", turnNote{t.thread, turn}})
}

func (t *translator) turn(id string, items itemsView) turn {
	return t.view(id).told(items)
}
