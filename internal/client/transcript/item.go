package transcript

import (
	"slices"

	"github.com/settle-agent/settle/event"
)

// itemChanged reports a change of an item. rest is the part of its text that no delta contained.
func (t *Transcript) itemChanged(c Change, rest string) {
	p := t.pending(c)
	_, runs := c.Event.Data.(event.CallStarted)
	_, grew := c.Event.Data.(event.ItemDelta)
	switch {
	case runs && p != nil:
		t.running = max(t.running, p.at)
	case runs:
	case p == nil || t.mode == Live:
		t.tellItem(c, rest)
	case !grew: // its text is in the item
		p.held = append(p.held, c.Event)
	}
	if !grew {
		t.commit()
	}
	if runs {
		t.tell(c, Item, Running)
	}
}

// commit commits the items that no later attempt can replace.
func (t *Transcript) commit() {
	for _, p := range slices.Clone(t.open) {
		if t.stays(p) {
			t.end(p, Committed)
		}
	}
}

// stays reports whether an item of the running attempt can no longer be discarded (C5): a
// call that runs, and complete items before one. A note belongs to no attempt.
func (t *Transcript) stays(p *pending) bool {
	complete := p.item.Ready || p.item.Status != event.ItemOpen
	return p.item.Started || complete && (p.at < t.running || p.item.Attempt == "")
}

// tellItem reports an event of an item.
func (t *Transcript) tellItem(c Change, rest string) {
	switch d := c.Event.Data.(type) {
	case event.ItemStarted:
		t.tell(c, Item, Started)
	case event.ItemDelta:
		c.Stream, c.Text = d.Stream, d.Text
		t.tell(c, Item, Grew)
	case event.CallReady:
		t.tell(c, Item, Ready)
	case event.ItemEnded:
		if rest != "" {
			grown := c
			grown.Stream, grown.Text = event.Text, rest
			t.tell(grown, Item, Grew)
		}
		t.tell(c, Item, Ended)
	}
}

// pending returns the record of an item that can still be discarded, with its held changes; nil for
// other items.
func (t *Transcript) pending(c Change) *pending {
	if _, starts := c.Event.Data.(event.ItemStarted); starts {
		t.open = append(t.open, &pending{item: c.Item, turn: c.Turn, at: len(c.Turn.Items) - 1})
	}
	for _, p := range slices.Backward(t.open) {
		if p.item == c.Item {
			return p
		}
	}
	return nil
}

// settle commits or discards all items of an attempt. Items of the turn's last attempt are
// committed, because no later attempt replaces them, though no request contains them.
func (t *Transcript) settle(c Change, d event.AttemptEnded) {
	t.running = -1
	for _, p := range slices.Clone(t.open) {
		switch {
		case p.item.Attempt != c.Event.Attempt:
		case d.RetryIn != nil && slices.Contains(d.Discarded, p.item.ID):
			t.end(p, Discarded)
		default:
			t.end(p, Committed)
		}
	}
}

// end reports that the item is committed or discarded, after its held changes.
func (t *Transcript) end(p *pending, what What) {
	t.open = slices.DeleteFunc(t.open, func(open *pending) bool { return open == p })
	c := Change{State: &t.state, Turn: p.turn, Item: p.item}
	for _, a := range p.turn.Attempts {
		if a.ID == p.item.Attempt {
			c.Attempt = a
		}
	}
	c.Event = event.Event{
		Session: t.state.Session, Seq: t.state.Seq, At: t.state.Updated, Turn: p.turn.ID,
		Attempt: p.item.Attempt, Item: p.item.ID,
	}
	if what == Discarded && t.mode == Final {
		return
	}
	for _, e := range p.held {
		held := c
		held.Event = e
		t.tellItem(held, p.item.Content().Text)
	}
	t.tell(c, Item, what)
}

// eventsOf returns events that could have led to the item's current state, without its
// deltas. They have no sequence numbers.
func eventsOf(i *event.Item) []event.Event {
	content := i.Content()
	e := event.Event{V: event.Version, At: i.BegunAt, Turn: i.Turn, Attempt: i.Attempt, Item: i.ID}
	e.Data = event.ItemStarted{
		Type:       i.Type(),
		ProviderID: content.ProviderID,
		CallID:     content.CallID,
		Name:       content.Name,
	}
	out := []event.Event{e}
	if i.Ready {
		e.Data = event.CallReady{
			Name:      content.Name,
			CallID:    content.CallID,
			Arguments: content.Arguments,
			Signature: content.Signature,
		}
		out = append(out, e)
	}
	if i.Status != event.ItemOpen {
		e.At, e.Data = i.EndedAt, event.ItemEnded{
			Status:  i.Status,
			Effects: i.Effects,
			Cause:   i.Cause,
			Content: content,
		}
		out = append(out, e)
	}
	return out
}
