package chat

import (
	"bytes"
	"encoding/json"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/catalog"
	"github.com/settle-agent/settle/model/internal/jsonschema"
	"github.com/settle-agent/settle/model/transport"
)

type request struct {
	Model           string          `json:"model"`
	Messages        []message       `json:"messages"`
	Tools           []tool          `json:"tools,omitempty"`
	ReasoningEffort string          `json:"reasoning_effort,omitempty"`
	PromptCacheKey  string          `json:"prompt_cache_key,omitempty"`
	ResponseFormat  *responseFormat `json:"response_format,omitempty"`
	Stream          bool            `json:"stream"`
	StreamOptions   *streamOptions  `json:"stream_options,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// responseFormat is how the answer is to look.
type responseFormat struct {
	Type       string     `json:"type"`
	JSONSchema jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// message is a message of any role. Content is a string, a list of parts, or
// nil for a message that only calls tools.
type message struct {
	Role             string          `json:"role"`
	Content          any             `json:"content"`
	ToolCalls        []toolCall      `json:"tool_calls,omitempty"`
	ToolCallID       string          `json:"tool_call_id,omitempty"`
	ReasoningContent string          `json:"reasoning_content,omitempty"`
	Reasoning        string          `json:"reasoning,omitempty"`
	ReasoningDetails json.RawMessage `json:"reasoning_details,omitempty"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type part struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

// The formats of our seals.
const (
	// sealDetails: Data is OpenRouter's reasoning_details, a JSON array.
	sealDetails = "details"
	// sealField: Data is the name of the field that the reasoning came in, and
	// in which the same server takes it back; some refuse a request without.
	sealField = "field"
)

func newRequest(req model.Request, known catalog.Model, reasoningBack bool) request {
	r := request{Model: req.Model, ReasoningEffort: known.Effort(req.Effort), Stream: true}
	if req.System != "" {
		r.Messages = append(r.Messages, message{Role: "system", Content: req.System})
	}
	for _, item := range req.Input {
		if item.Role == model.Reasoning && !reasoningBack {
			continue
		}
		r.add(item)
	}
	if len(req.Schema) > 0 {
		r.ResponseFormat = &responseFormat{"json_schema", jsonSchema{jsonschema.Name, req.Schema, jsonschema.Strict(req.Schema)}}
	}
	for _, t := range req.Tools {
		r.Tools = append(r.Tools, tool{"function", function{t.Name, t.Description, t.Schema}})
	}
	// Reasoning that nothing came of is no message.
	kept := r.Messages[:0]
	for _, m := range r.Messages {
		if m.Role != "assistant" || m.Content != nil || len(m.ToolCalls) > 0 {
			kept = append(kept, m)
		}
	}
	r.Messages = kept
	return r
}

// add appends an item. What the model said in one go becomes one message, and
// so do consecutive inputs: many servers' templates demand it.
func (r *request) add(item model.Item) {
	switch item.Role {
	case model.User:
		if item.Text != "" || len(item.Images) > 0 {
			r.addUser(item)
		}
	case model.Assistant:
		if item.Text != "" {
			m := r.assistant()
			text, _ := m.Content.(string)
			m.Content = text + item.Text
		}
	case model.Reasoning:
		if item.Seal != nil {
			r.assistant().addReasoning(item)
		}
	case model.Call:
		m := r.assistant()
		m.ToolCalls = append(m.ToolCalls, toolCall{item.CallID, "function", functionCall{item.Name, string(transport.Arguments(item.Arguments))}})
	case model.Output:
		r.Messages = append(r.Messages, message{Role: "tool", ToolCallID: item.CallID, Content: item.Text})
	}
}

// assistant returns the message that the model is saying, a new one if need be.
func (r *request) assistant() *message {
	if n := len(r.Messages); n == 0 || r.Messages[n-1].Role != "assistant" {
		r.Messages = append(r.Messages, message{Role: "assistant"})
	}
	return &r.Messages[len(r.Messages)-1]
}

func (r *request) addUser(item model.Item) {
	if n := len(r.Messages); n == 0 || r.Messages[n-1].Role != "user" {
		r.Messages = append(r.Messages, message{Role: "user"})
	}
	m := &r.Messages[len(r.Messages)-1]
	text, isText := m.Content.(string)
	if m.Content == nil || isText && len(item.Images) == 0 {
		if len(item.Images) == 0 {
			if text != "" {
				text += "\n\n"
			}
			m.Content = text + item.Text
			return
		}
	}
	parts, _ := m.Content.([]part)
	if isText {
		parts = append(parts, part{Type: "text", Text: text})
	}
	if item.Text != "" {
		parts = append(parts, part{Type: "text", Text: item.Text})
	}
	for _, image := range item.Images {
		parts = append(parts, part{Type: "image_url", ImageURL: &imageURL{transport.DataURL(image)}})
	}
	m.Content = parts
}

// addReasoning puts reasoning where its server had it.
func (m *message) addReasoning(item model.Item) {
	switch item.Seal.Format {
	case sealField:
		switch item.Seal.Data {
		case "reasoning_content":
			m.ReasoningContent += item.Text
		case "reasoning":
			m.Reasoning += item.Text
		}
	case sealDetails:
		data := bytes.TrimSpace([]byte(item.Seal.Data))
		if !json.Valid(data) || len(data) < 2 || data[0] != '[' {
			return
		}
		if m.ReasoningDetails == nil {
			m.ReasoningDetails = data
			return
		}
		var one, two []json.RawMessage
		if json.Unmarshal(m.ReasoningDetails, &one) == nil && json.Unmarshal(data, &two) == nil {
			if joined, err := json.Marshal(append(one, two...)); err == nil {
				m.ReasoningDetails = joined
			}
		}
	}
}
