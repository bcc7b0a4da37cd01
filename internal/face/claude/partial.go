package claude

import (
	"github.com/settle-agent/settle/event"
)

// stream is a response that is told as it comes, in the events of Anthropic's
// Messages API.
type stream struct {
	attempt string // "" while none is told
	index   map[string]int
	open    map[string]bool // blocks that have not stopped
}

// streamEvent is a message with one of those events.
type streamEvent struct {
	header
	Event  any     `json:"event"`
	Parent *string `json:"parent_tool_use_id"`
}

func (t *teller) streamEvent(kind string, more map[string]any) {
	e := map[string]any{"type": kind}
	for name, value := range more {
		e[name] = value
	}
	t.out.send(streamEvent{header: newHeader(t.session, "stream_event", ""), Event: e})
}

// streamed tells an event as a part of a response.
func (t *teller) streamed(e event.Event) {
	switch d := e.Data.(type) {
	case event.ItemStarted:
		t.blockStarted(e, d)
	case event.ItemDelta:
		t.blockDelta(e, d)
	case event.CallReady:
		t.blockCall(e, d)
	case event.ItemEnded:
		t.blockEnded(e, d)
	case event.AttemptEnded:
		t.responseEnded(e, d)
	}
}

func (t *teller) blockStarted(e event.Event, d event.ItemStarted) {
	if e.Attempt == "" {
		return // a note
	}
	if t.stream.attempt != e.Attempt {
		t.stream = stream{attempt: e.Attempt, index: map[string]int{}, open: map[string]bool{}}
		m := t.message(t.state.Turn(e.Turn), e.Attempt, block{})
		m.Content = []block{}
		t.streamEvent("message_start", map[string]any{"message": m})
	}
	empty := ""
	var b block
	switch d.Type {
	case event.Message:
		b = textBlock("")
	case event.Reasoning:
		b = block{Type: "thinking", Thinking: &empty, Signature: &empty}
	case event.ToolCall:
		b = block{Type: "tool_use", ID: callID(t.state.Turn(e.Turn).Item(e.Item)), Name: aliasOf(d.Name).claude, Input: map[string]any{}}
	default:
		return
	}
	n := len(t.stream.index)
	t.stream.index[e.Item], t.stream.open[e.Item] = n, true
	t.streamEvent("content_block_start", map[string]any{"index": n, "content_block": b})
}

func (t *teller) delta(item string, delta map[string]any) {
	t.streamEvent("content_block_delta", map[string]any{"index": t.stream.index[item], "delta": delta})
}

func (t *teller) blockDelta(e event.Event, d event.ItemDelta) {
	if !t.stream.open[e.Item] || d.Stream != event.Text {
		return // arguments come whole: they have other names here
	}
	if t.state.Turn(e.Turn).Item(e.Item).Type() == event.Reasoning {
		t.delta(e.Item, map[string]any{"type": "thinking_delta", "thinking": d.Text})
		return
	}
	t.delta(e.Item, map[string]any{"type": "text_delta", "text": d.Text})
}

func (t *teller) blockCall(e event.Event, d event.CallReady) {
	if t.stream.open[e.Item] {
		t.delta(e.Item, map[string]any{"type": "input_json_delta", "partial_json": compact(aliasOf(d.Name).input(d.Arguments, t.dir))})
		t.blockStop(e.Item)
	}
}

func (t *teller) blockEnded(e event.Event, d event.ItemEnded) {
	if !t.stream.open[e.Item] {
		return
	}
	if d.Seal != nil && d.Seal.Format == "signature" {
		t.delta(e.Item, map[string]any{"type": "signature_delta", "signature": d.Seal.Data})
	}
	t.blockStop(e.Item)
}

func (t *teller) blockStop(item string) {
	delete(t.stream.open, item)
	t.streamEvent("content_block_stop", map[string]any{"index": t.stream.index[item]})
}

func (t *teller) responseEnded(e event.Event, d event.AttemptEnded) {
	if t.stream.attempt != e.Attempt {
		return
	}
	for _, i := range t.state.Turn(e.Turn).Items {
		if t.stream.open[i.ID] {
			t.blockStop(i.ID)
		}
	}
	var stop *string
	if d.StopReason != "" {
		stop = &d.StopReason
	}
	t.streamEvent("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": usageOf(d.Usage)})
	t.streamEvent("message_stop", nil)
	t.stream = stream{}
}
