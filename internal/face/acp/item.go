package acp

import (
	"encoding/json"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// itemChanged says what happens to an item. The caller holds mu.
func (f *follower) itemChanged(c transcript.Change) {
	if c.Item.Type() == event.ToolCall {
		f.callChanged(c)
	} else if c.What == transcript.Grew {
		f.send(text(c.Item.Type(), c.Item.ID, c.Text))
	}
}

func (f *follower) callChanged(c transcript.Change) {
	if c.What == transcript.Committed || c.What == transcript.Discarded {
		return // what was sent cannot be taken back
	}
	known := f.calls[c.Item.ID]
	if known == nil { // it began just now, or before it was followed
		known = newCall(f.ses, c.Item)
		f.calls[c.Item.ID] = known
		f.send(known.begin())
	}
	switch c.What {
	case transcript.Ready:
		f.send(known.ready())
	case transcript.Running:
		d, _ := c.Event.Data.(event.CallStarted)
		f.send(known.started(d.Title))
	case transcript.Grew:
		if c.Stream == event.Output {
			f.output(known, c.Text)
		}
	case transcript.Ended:
		delete(f.calls, c.Item.ID)
		f.send(known.ended())
		if setsPlan(c.Item) {
			f.send(known.plan())
		}
	}
}

// text is a piece of what the model says, or thinks.
func text(kind event.ItemType, id, piece string) chunk {
	update := agentChunk
	if kind != event.Message {
		update = thoughtChunk
	}
	return chunk{Update: update, Content: said(piece), MessageID: id}
}

func encode(v any) (json.RawMessage, error) { return json.Marshal(v) }
