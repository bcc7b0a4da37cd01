package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

// wireBlock has the fields of the content blocks that we know. Raw is the block
// as it came.
type wireBlock struct {
	raw       []byte
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	Input     json.RawMessage `json:"input"`
}

// UnmarshalJSON reads the type of a block that we do not know, and no more: its
// fields may have the names of ours and be of other types.
func (w *wireBlock) UnmarshalJSON(data []byte) error {
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &kind); err != nil {
		return err
	}
	type plain wireBlock
	switch kind.Type {
	case "text", "thinking", "redacted_thinking", "tool_use":
		if err := json.Unmarshal(data, (*plain)(w)); err != nil {
			return err
		}
	}
	w.Type, w.raw = kind.Type, data // which stays as it is while the event is read
	return nil
}

// opaque reports whether blocks of the type are kept and sent back unchanged: actions of the API
// itself, such as a search, with their results.
func opaque(kind string) bool {
	return kind == "server_tool_use" || kind == "mcp_tool_use" ||
		strings.HasSuffix(kind, "_tool_result") && kind != "tool_result"
}

// MarshalJSON writes a raw block unchanged.
func (b block) MarshalJSON() ([]byte, error) {
	if b.raw != nil {
		return b.raw, nil
	}
	type plain block
	return json.Marshal(plain(b))
}

// rawBlock returns a block that only the API reads.
func rawBlock(data string) []block {
	b := block{raw: json.RawMessage(data)}
	var known struct {
		Type      string `json:"type"`
		ID        string `json:"id"`
		ToolUseID string `json:"tool_use_id"`
	}
	if json.Unmarshal(b.raw, &known) != nil || !opaque(known.Type) {
		return nil
	}
	b.Type, b.ID, b.ToolUseID = known.Type, known.ID, known.ToolUseID
	return []block{b}
}

// paired returns the items without three kinds that the API refuses: its own tool uses without a
// result and results without a use, both from a response that was cut, and stale searches for
// tools.
func paired(items []model.Item, specs []model.ToolSpec) []model.Item {
	seen := map[string]int{}
	id := func(item model.Item) (string, bool) {
		if item.Role != model.Reasoning || item.Signature == nil || item.Signature.Format != event.SignatureBlock {
			return "", false
		}
		for _, b := range rawBlock(item.Signature.Data) {
			return b.ID + b.ToolUseID, true
		}
		return "", true
	}
	for _, item := range items {
		if id, raw := id(item); raw {
			if seen[id]++; stale(&item, specs) {
				seen[id] += 2
			}
		}
	}
	if len(seen) == 0 {
		return items
	}
	return slices.DeleteFunc(slices.Clone(items), func(item model.Item) bool {
		id, raw := id(item)
		return raw && seen[id] != 2
	})
}

// assembled returns a raw block with the content of its deltas: the input of a tool use. If the
// content is not JSON, the block stays unchanged.
func (b *openBlock) assembled() string {
	var members map[string]json.RawMessage
	if len(b.more) == 0 || !json.Valid(b.more) || json.Unmarshal(b.raw, &members) != nil {
		return string(b.raw)
	}
	members["input"] = b.more
	data, err := json.Marshal(members)
	if err != nil {
		return string(b.raw)
	}
	return string(data)
}
