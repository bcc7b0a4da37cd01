package claude

import (
	"maps"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// stream sends a response as it arrives, as events of Anthropic's Messages API.
type stream struct {
	attempt string // "" if no attempt is being sent
	index   map[string]int
	open    map[string]bool // blocks that have not stopped
}

// streamEvent sends a message with a streaming event.
func (t *encoder) streamEvent(kind string, more map[string]any) {
	e := map[string]any{"type": kind}
	maps.Copy(e, more)
	t.out.send(newMessage(t.session, "stream_event", map[string]any{"event": e, "parent_tool_use_id": nil}))
}

// streamed sends a change as a part of a streamed response.
func (t *encoder) streamed(c transcript.Change) {
	switch d, ended := c.Event.Data.(event.AttemptEnded); {
	case c.Thing == transcript.Attempt && ended:
		t.responseEnded(c, d)
	case c.Thing != transcript.Item:
	case c.What == transcript.Started:
		t.blockStarted(c)
	case c.What == transcript.Grew && c.Stream == event.Text: // arguments come whole: they have other names here
		t.blockDelta(c)
	case c.What == transcript.Ready:
		t.blockCall(c)
	case c.What == transcript.Ended:
		t.blockEnded(c)
	}
}

func (t *encoder) blockStarted(c transcript.Change) {
	if c.Item.Attempt == "" {
		return // a note
	}
	if t.stream.attempt != c.Item.Attempt {
		t.stream = stream{attempt: c.Item.Attempt, index: map[string]int{}, open: map[string]bool{}}
		m := t.message(c.Turn, c.Item.Attempt, block{})
		m.Content = []block{}
		t.streamEvent("message_start", map[string]any{"message": m})
	}
	empty := ""
	var b block
	switch c.Item.Type() {
	case event.Message:
		b = textBlock("")
	case event.Reasoning:
		b = block{Type: "thinking", Thinking: &empty, Signature: &empty}
	case event.ToolCall:
		b = block{
			Type:  "tool_use",
			ID:    callID(c.Item),
			Name:  aliasOf(c.Item.Content().Name).claude,
			Input: map[string]any{},
		}
	default:
		return
	}
	n := len(t.stream.index)
	t.stream.index[c.Item.ID], t.stream.open[c.Item.ID] = n, true
	t.streamEvent("content_block_start", map[string]any{"index": n, "content_block": b})
}

func (t *encoder) delta(item string, delta map[string]any) {
	t.streamEvent("content_block_delta", map[string]any{"index": t.stream.index[item], "delta": delta})
}

func (t *encoder) blockDelta(c transcript.Change) {
	switch {
	case !t.stream.open[c.Item.ID]:
	case c.Item.Type() == event.Reasoning:
		t.delta(c.Item.ID, map[string]any{"type": "thinking_delta", "thinking": c.Text})
	default:
		t.delta(c.Item.ID, map[string]any{"type": "text_delta", "text": c.Text})
	}
}

func (t *encoder) blockCall(c transcript.Change) {
	if t.stream.open[c.Item.ID] {
		call := c.Item.Content()
		t.delta(
			c.Item.ID,
			map[string]any{
				"type":         "input_json_delta",
				"partial_json": compact(aliasOf(call.Name).input(call.Arguments, t.dir)),
			},
		)
		t.blockStop(c.Item.ID)
	}
}

func (t *encoder) blockEnded(c transcript.Change) {
	if !t.stream.open[c.Item.ID] {
		return
	}
	if signature := c.Item.Content().Signature; signature != nil && signature.Format == "signature" {
		t.delta(c.Item.ID, map[string]any{"type": "signature_delta", "signature": signature.Data})
	}
	t.blockStop(c.Item.ID)
}

func (t *encoder) blockStop(item string) {
	delete(t.stream.open, item)
	t.streamEvent("content_block_stop", map[string]any{"index": t.stream.index[item]})
}

func (t *encoder) responseEnded(c transcript.Change, d event.AttemptEnded) {
	if t.stream.attempt != c.Event.Attempt {
		return
	}
	for _, i := range c.Turn.Items {
		if t.stream.open[i.ID] {
			t.blockStop(i.ID)
		}
	}
	var stop *string
	if d.StopReason != "" {
		stop = &d.StopReason
	}
	t.streamEvent(
		"message_delta",
		map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": usageOf(d.Usage)},
	)
	t.streamEvent("message_stop", nil)
	t.stream = stream{}
}
