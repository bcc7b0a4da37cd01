package acp

import (
	"encoding/json"

	"github.com/settle-agent/settle/event"
)

// item says what happens to an item. The caller holds mu.
func (f *follower) item(e event.Event) {
	i := f.items[e.Item]
	switch d := e.Data.(type) {
	case event.ItemStarted:
		i = &item{kind: d.Type}
		f.items[e.Item] = i
		if d.Type == event.ToolCall {
			i.call = newCall(f.one, e.Item, d.Name)
			f.send(i.call.begin())
		}
	case event.ItemDelta:
		f.delta(e.Item, i, d)
	case event.CallReady:
		if i != nil && i.call != nil {
			f.send(i.call.ready(d.Arguments))
		}
	case event.CallStarted:
		if i != nil && i.call != nil {
			f.send(i.call.started(d.Title))
		}
	case event.ItemEnded:
		delete(f.items, e.Item)
		f.itemEnded(e.Item, i, d)
	}
}

func (f *follower) delta(id string, i *item, d event.ItemDelta) {
	switch {
	case i == nil:
	case d.Stream == event.Text && i.call == nil:
		i.sent += len(d.Text)
		f.send(text(i.kind, id, d.Text))
	case d.Stream == event.Output && i.call != nil:
		f.output(i.call, d.Text)
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

func (f *follower) itemEnded(id string, i *item, d event.ItemEnded) {
	if d.Type == event.ToolCall {
		c := (*call)(nil)
		if i != nil {
			c = i.call
		}
		if c == nil {
			c = newCall(f.one, id, d.Name)
			f.send(c.begin())
		}
		f.send(c.ended(d))
		return
	}
	sent := 0
	if i != nil {
		sent = i.sent
	}
	if sent < len(d.Text) { // not all of it came in deltas
		f.send(text(d.Type, id, d.Text[sent:]))
	}
}

func encode(v any) (json.RawMessage, error) { return json.Marshal(v) }
