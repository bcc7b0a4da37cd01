package endings

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// codexReader reads the events of the Codex SDK (sdk/typescript/src/events.ts
// and items.ts of openai/codex): a thread with turns, one after the other, and
// items in them. Some items are reported only when they are complete.
type codexReader struct {
	turns  int
	turn   string // running; "" for none
	thread string
	open   map[string]bool
}

func (c *codexReader) read(line []byte) ([]Record, error) {
	var e struct {
		Type     string `json:"type"`
		ThreadID string `json:"thread_id"`
		Item     struct {
			ID     string `json:"id"`
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"item"`
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return nil, err
	}
	id := c.thread + c.turn + "/" + e.Item.ID
	start := Record{Start: id, Kind: e.Item.Type, In: c.turn}
	switch e.Type {
	case "":
		return nil, errors.New("it is not an event of Codex's: it has no type")
	case "thread.started":
		c.thread = e.ThreadID
	case "turn.started":
		c.turns++
		c.turn = fmt.Sprintf("%s/turn %d", c.thread, c.turns)
		return []Record{{Start: c.turn, Kind: "turn"}}, nil
	case "turn.completed", "turn.failed":
		r := Record{End: cmp.Or(c.turn, "a turn"), Cause: e.Type[len("turn."):]}
		c.turn = ""
		return []Record{r}, nil
	case "item.started":
		c.open[id] = true
		return []Record{start}, nil
	case "item.completed":
		end := Record{End: id, Cause: cmp.Or(e.Item.Status, "completed")}
		if !c.open[id] {
			c.open[id] = true // a second end is one
			return []Record{start, end}, nil
		}
		return []Record{end}, nil
	}
	return nil, nil
}

// claudeReader reads the messages of Claude Code's stream-json (the Agent SDK's
// SDKMessage): a turn begins with the first message after a result, and ends
// with the result. Calls start with tool_use and end with their tool_result; a
// subagent's belong to the call that started it.
type claudeReader struct {
	turns int
	turn  string // running; "" for none
}

// claudeMessage is the checked part of a message. Content can be a string, which has no calls.
type claudeMessage struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Parent  string `json:"parent_tool_use_id"`
	Message struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

type claudeBlock struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	ToolUseID string `json:"tool_use_id"`
	IsError   bool   `json:"is_error"`
}

func (c *claudeReader) read(line []byte) ([]Record, error) {
	var m claudeMessage
	if err := json.Unmarshal(line, &m); err != nil {
		return nil, err
	}
	switch {
	case m.Type == "":
		return nil, errors.New("it is not a message of Claude Code's: it has no type")
	case m.Type == "result":
		r := Record{End: cmp.Or(c.turn, "a turn"), Cause: m.Subtype}
		c.turn = ""
		return []Record{r}, nil
	case m.Type != "assistant" && m.Type != "user" && (m.Type != "system" || m.Subtype != "init"):
		return nil, nil
	}
	var out []Record
	if c.turn == "" {
		c.turns++
		c.turn = fmt.Sprintf("turn %d", c.turns)
		out = append(out, Record{Start: c.turn, Kind: "turn"})
	}
	var blocks []claudeBlock
	_ = json.Unmarshal(m.Message.Content, &blocks) // a string has none
	for _, b := range blocks {
		switch b.Type {
		case "tool_use":
			out = append(out, Record{Start: b.ID, Kind: "call", In: cmp.Or(m.Parent, c.turn)})
		case "tool_result":
			cause := "completed"
			if b.IsError {
				cause = "failed"
			}
			out = append(out, Record{End: b.ToolUseID, Cause: cause})
		}
	}
	return out, nil
}
