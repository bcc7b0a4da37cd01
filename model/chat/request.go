package chat

import (
	"encoding/json"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/catalog"
	"github.com/settle-agent/settle/model/internal/jsonschema"
	"github.com/settle-agent/settle/model/transport"
)

type request struct {
	Model           string          `json:"model"`
	Messages        []message       `json:"messages"`
	Tools           []tool          `json:"tools,omitempty"`
	ToolChoice      string          `json:"tool_choice,omitempty"`
	ReasoningEffort string          `json:"reasoning_effort,omitempty"`
	PromptCacheKey  string          `json:"prompt_cache_key,omitempty"`
	ResponseFormat  *responseFormat `json:"response_format,omitempty"`
	CacheControl    *cacheControl   `json:"cache_control,omitempty"`
	Stream          bool            `json:"stream"`
	StreamOptions   *streamOptions  `json:"stream_options,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// responseFormat is the requested form of the answer.
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
	Role             string     `json:"role"`
	Content          any        `json:"content"`
	ToolCalls        []toolCall `json:"tool_calls,omitempty"`
	ToolCallID       string     `json:"tool_call_id,omitempty"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	Reasoning        string     `json:"reasoning,omitempty"`
	ReasoningDetails details    `json:"reasoning_details,omitempty"`

	thoughts string // that go into a part of the content
	members  members
}

// MarshalJSON adds the fields that the server added to the message.
func (m message) MarshalJSON() ([]byte, error) {
	type plain message
	data, err := json.Marshal(plain(m))
	if err != nil {
		return nil, err
	}
	return withMembers(data, m.members)
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`

	members members
}

// MarshalJSON adds the fields that the server added to the call.
func (c toolCall) MarshalJSON() ([]byte, error) {
	type plain toolCall
	data, err := json.Marshal(plain(c))
	if err != nil {
		return nil, err
	}
	return withMembers(data, c.members)
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type part struct {
	Type         string        `json:"type"`
	Text         string        `json:"text,omitempty"`
	ImageURL     *imageURL     `json:"image_url,omitempty"`
	File         *file         `json:"file,omitempty"`
	Thinking     []part        `json:"thinking,omitempty"`
	CacheControl *cacheControl `json:"cache_control,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

// file is a PDF, as a data URL.
type file struct {
	Filename string `json:"filename"`
	FileData string `json:"file_data"`
}

type cacheControl struct {
	Type string `json:"type"`
}

func newRequest(req model.Request, known catalog.Model, d dialect) request {
	r := request{Model: req.Model, ReasoningEffort: known.Effort(req.Effort), Stream: true}
	if req.System != "" {
		r.Messages = append(r.Messages, message{Role: "system", Content: req.System})
	}
	for _, item := range req.Input {
		r.add(item, d)
	}
	if len(req.Schema) > 0 {
		r.ResponseFormat = &responseFormat{
			"json_schema",
			jsonSchema{jsonschema.Name, req.Schema, jsonschema.Strict(req.Schema)},
		}
	}
	for _, t := range req.Tools {
		r.Tools = append(r.Tools, tool{"function", function{t.Name, t.Description, t.Schema}})
	}
	if req.NoCalls && len(r.Tools) > 0 &&
		!d.cached { // without tools, it is an error to name a choice; Claude's cache is lost with another
		r.ToolChoice = "none"
	}
	// A message with reasoning only is left out.
	r.Messages = slices.DeleteFunc(r.Messages, func(m message) bool {
		return m.Role == "assistant" && m.Content == nil && len(m.ToolCalls) == 0
	})
	for i := range r.Messages {
		r.Messages[i].place()
	}
	r.Messages = d.apply(r.Messages)
	if d.cached {
		r.CacheControl = &cacheControl{"ephemeral"}
	}
	return r
}

// place puts thoughts that are parts of the content into it.
func (m *message) place() {
	if m.thoughts == "" {
		return
	}
	parts := []part{{Type: "thinking", Thinking: []part{{Type: "text", Text: m.thoughts}}}}
	if text, _ := m.Content.(string); text != "" {
		parts = append(parts, part{Type: "text", Text: text})
	}
	m.Content = parts
}

// add appends an item. Consecutive items of the model become one message, as do
// consecutive inputs: the templates of many servers demand it.
func (r *request) add(item model.Item, d dialect) {
	switch item.Role {
	case model.User:
		if item.Text != "" || len(item.Images) > 0 || len(item.Documents) > 0 {
			r.addUser(item)
		}
	case model.Assistant:
		if item.Text != "" {
			m := r.assistant()
			text, _ := m.Content.(string)
			m.Content = text + item.Text
		}
	case model.Reasoning:
		r.assistant().addReasoning(item, d)
	case model.Call:
		m := r.assistant()
		c := toolCall{
			ID:       item.CallID,
			Type:     "function",
			Function: functionCall{item.Name, string(transport.Arguments(item.Arguments))},
		}
		if item.Signature != nil && item.Signature.Format == event.SignatureMembers {
			_ = json.Unmarshal([]byte(item.Signature.Data), &c.members) // a value that is not an object has no members
		}
		m.ToolCalls = append(m.ToolCalls, c)
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
	attached := len(item.Images) > 0 || len(item.Documents) > 0
	if m.Content == nil || isText && !attached {
		if !attached {
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
	for _, d := range item.Documents {
		parts = append(parts, part{Type: "file", File: &file{transport.Filename(d), transport.DocumentURL(d)}})
	}
	for _, image := range item.Images {
		parts = append(parts, part{Type: "image_url", ImageURL: &imageURL{transport.DataURL(image)}})
	}
	m.Content = parts
}

// addReasoning puts reasoning where its server had it, or wants it.
func (m *message) addReasoning(item model.Item, d dialect) {
	switch {
	case item.Signature != nil && item.Signature.Format == event.SignatureAttached:
		m.attach(item.Signature.Data)
	case d.mute:
	case item.Signature == nil && d.thinks:
		m.ReasoningContent += item.Text
	case item.Signature == nil:
	case item.Signature.Format == event.SignatureDetails:
		var more details
		if json.Unmarshal([]byte(item.Signature.Data), &more) == nil {
			m.ReasoningDetails = m.ReasoningDetails.join(more)
		}
	case item.Signature.Format == event.SignatureField:
		switch item.Signature.Data {
		case fieldContent:
			m.ReasoningContent += item.Text
		case fieldReasoning:
			m.Reasoning += item.Text
		case fieldParts:
			m.thoughts += item.Text
		}
	}
}
