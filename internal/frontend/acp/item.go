package acp

import (
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// itemChanged sends a change of an item to the client. The caller holds mu.
func (ses *session) itemChanged(c transcript.Change) {
	if c.Item.Type() == event.ToolCall {
		ses.callChanged(c)
	} else if c.What == transcript.Grew {
		ses.send(text(c.Item.Type(), c.Item.ID, c.Text))
	}
}

func (ses *session) callChanged(c transcript.Change) {
	if c.What == transcript.Committed || c.What == transcript.Discarded {
		return // sent text cannot be withdrawn
	}
	known := ses.calls[c.Item.ID]
	if known == nil { // it began just now, or before it was followed
		known = newCall(ses, c.Item)
		ses.calls[c.Item.ID] = known
		ses.send(known.begin())
	}
	switch c.What {
	case transcript.Ready:
		ses.send(known.ready())
	case transcript.Running:
		d, _ := c.Event.Data.(event.CallStarted)
		ses.send(known.started(d.Title))
	case transcript.Grew:
		if c.Stream == event.Output {
			ses.output(known, c.Text)
		}
		if text := c.Notice(); text != "" {
			ses.warn(text)
		}
	case transcript.Ended:
		delete(ses.calls, c.Item.ID)
		ses.send(known.ended())
		if setsPlan(c.Item) {
			ses.send(known.plan())
		}
	}
}

// text returns a piece of the model's message or reasoning.
func text(kind event.ItemType, id, piece string) chunk {
	update := agentChunk
	if kind != event.Message {
		update = thoughtChunk
	}
	return chunk{Update: update, Content: textPiece(piece), MessageID: id}
}
