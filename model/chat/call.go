package chat

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/transport"
)

// call is a tool call that the model makes.
type call struct {
	index    *int   // the server's, if it sends one
	serverID string // the server's id; id may be generated
	item     int
	id, name string
	args     []byte
	members  members // fields that the server added
	ended    bool
}

type wireCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a string; some servers send the object
	} `json:"function"`

	members members
}

// UnmarshalJSON reads a call, and the fields that the server added to it.
func (w *wireCall) UnmarshalJSON(data []byte) error {
	type plain wireCall
	if err := json.Unmarshal(data, (*plain)(w)); err != nil {
		return err
	}
	return w.members.scan(data, "index", "id", "type", "function")
}

func (d *decoder) toolCalls(data []byte, emit transport.Emit) error {
	var list []wireCall
	if err := json.Unmarshal(data, &list); err != nil {
		return transport.Malformed("tool_calls are not what they should be: %w", err)
	}
	for i, w := range list {
		if err := d.toolCall(w, i > 0, emit); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) toolCall(w wireCall, another bool, emit transport.Emit) error {
	text := argumentsText(w.Function.Arguments)
	c := d.findCall(w, another)
	if c == nil {
		if w.ID == "" && w.Function.Name == "" && strings.TrimSpace(text) == "" {
			return nil
		}
		c = d.newCall(w, emit)
	}
	if c.name == "" {
		c.name = w.Function.Name
	}
	if c.ended { // too late for the call's own end
		d.late.call(c.id, w.members)
	} else {
		c.members.add(w.members)
	}
	if text == "" {
		return nil
	}
	if c.ended {
		if strings.TrimSpace(text) == "" {
			return nil
		}
		return transport.Malformed("more arguments for call %q after their end", c.id)
	}
	c.args = append(c.args, text...)
	emit(model.Chunk{Kind: model.Delta, Role: model.Call, Index: c.item, Text: text})
	return nil
}

// findCall returns the call that w continues, or nil if w begins one. Another
// reports that w is not the first call of its chunk.
//
// The index decides. But some servers give every call the same index, or none: then
// another id with a name begins another call, and a name after complete arguments also
// does.
func (d *decoder) findCall(w wireCall, another bool) *call {
	named := w.Function.Name != ""
	if w.Index != nil {
		for i := len(d.calls) - 1; i >= 0; i-- {
			c := d.calls[i]
			if c.index == nil || *c.index != *w.Index {
				continue
			}
			if named && (w.ID != "" && c.serverID != "" && w.ID != c.serverID || w.ID == "" && c.complete()) {
				return nil
			}
			return c
		}
		return nil
	}
	if w.ID != "" {
		for i := len(d.calls) - 1; i >= 0; i-- {
			if d.calls[i].serverID == w.ID && (!named || !d.calls[i].complete()) {
				return d.calls[i]
			}
		}
		if named {
			return nil
		}
	}
	if len(d.calls) == 0 {
		return nil
	}
	last := d.calls[len(d.calls)-1]
	if named && (another || last.complete()) {
		return nil
	}
	return last
}

func (d *decoder) newCall(w wireCall, emit transport.Emit) *call {
	d.closeFlow(emit)
	d.closeComplete(emit)
	c := &call{index: w.Index, serverID: w.ID, id: w.ID, name: w.Function.Name, item: d.items}
	if c.id == "" || !d.ids.Take(c.id) {
		c.id = d.ids.Next()
	}
	d.items++
	d.calls = append(d.calls, c)
	emit(model.Chunk{Kind: model.ItemStart, Role: model.Call, Index: c.item, CallID: c.id, Name: c.name})
	return c
}

// closeComplete ends the calls whose arguments can have no more, so that they
// start while the model still speaks.
func (d *decoder) closeComplete(emit transport.Emit) {
	for _, c := range d.calls {
		if !c.ended && c.name != "" && c.complete() {
			c.end(emit)
		}
	}
}

// complete reports whether the arguments are a whole JSON object.
func (c *call) complete() bool {
	args := bytes.TrimSpace(c.args)
	return c.ended || len(args) > 0 && args[0] == '{' && json.Valid(args)
}

func (c *call) end(emit transport.Emit) {
	c.ended = true
	if strings.TrimSpace(string(c.args)) == "" {
		emit(model.Chunk{Kind: model.Delta, Role: model.Call, Index: c.item, Text: "{}"})
	}
	emit(
		model.Chunk{
			Kind:      model.ItemEnd,
			Role:      model.Call,
			Index:     c.item,
			CallID:    c.id,
			Name:      c.name,
			Signature: c.members.signature(),
		},
	)
}

func argumentsText(raw json.RawMessage) string {
	var text string
	switch {
	case len(raw) == 0, string(raw) == "null":
		return ""
	case json.Unmarshal(raw, &text) == nil:
		return text
	}
	return string(raw)
}
