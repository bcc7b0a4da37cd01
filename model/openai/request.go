package openai

import (
	"encoding/json"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/catalog"
	"github.com/settle-agent/settle/model/internal/jsonschema"
	"github.com/settle-agent/settle/model/transport"
)

// minMaxOutput is the least max_output_tokens that the API takes.
const minMaxOutput = 16

type request struct {
	Model             string     `json:"model"`
	Instructions      string     `json:"instructions,omitempty"`
	Input             []item     `json:"input"`
	Tools             []*tool    `json:"tools,omitempty"`
	ParallelToolCalls *bool      `json:"parallel_tool_calls,omitempty"`
	ToolChoice        string     `json:"tool_choice,omitempty"`
	Reasoning         *reasoning `json:"reasoning,omitempty"`
	Include           []string   `json:"include,omitempty"`
	MaxOutputTokens   int        `json:"max_output_tokens,omitempty"`
	PromptCacheKey    string     `json:"prompt_cache_key,omitempty"`
	Text              *text      `json:"text,omitempty"`
	Store             bool       `json:"store"`
	Stream            bool       `json:"stream"`
}

type reasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary"`
}

// text is the requested form of the answer.
type text struct {
	Format schemaFormat `json:"format"`
}

type schemaFormat struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

// item is an input item of any type. The ids of messages and calls are left
// out: with nothing stored they refer to nothing.
type item struct {
	Type             string  `json:"type"`
	ID               string  `json:"id,omitempty"`
	Role             string  `json:"role,omitempty"`
	Content          any     `json:"content,omitempty"` // string, or []part
	Summary          *[]part `json:"summary,omitempty"`
	EncryptedContent string  `json:"encrypted_content,omitempty"`
	CallID           string  `json:"call_id,omitempty"`
	Name             string  `json:"name,omitempty"`
	Namespace        string  `json:"namespace,omitempty"`
	Arguments        string  `json:"arguments,omitempty"`
	Input            *string `json:"input,omitempty"`
	Output           *string `json:"output,omitempty"`
	Phase            string  `json:"phase,omitempty"`

	members json.RawMessage // object with the fields that the API added; replaces all other fields if there is no type
}

// MarshalJSON adds the fields that the API added to the item.
func (it item) MarshalJSON() ([]byte, error) {
	if it.Type == "" {
		return it.members, nil
	}
	type plain item
	data, err := json.Marshal(plain(it))
	if err != nil || len(it.members) == 0 {
		return data, err
	}
	return slices.Concat(data[:len(data)-1], []byte(","), it.members[1:]), nil
}

// attached returns the fields that the API added to an item, if they are an object in the format.
func attached(it model.Item, format string) json.RawMessage {
	if it.Signature == nil || it.Signature.Format != format ||
		len(it.Signature.Data) < len(`{"a":1}`) || it.Signature.Data[0] != '{' ||
		!json.Valid([]byte(it.Signature.Data)) {
		return nil
	}
	return json.RawMessage(it.Signature.Data)
}

type part struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	Detail   string `json:"detail,omitempty"`
	Filename string `json:"filename,omitempty"`
	FileData string `json:"file_data,omitempty"`
}

type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
	Format      *format         `json:"format,omitempty"`
	Defer       bool            `json:"defer_loading,omitempty"`
	Tools       []*tool         `json:"tools,omitempty"` // of a namespace
}

type format struct {
	Type       string `json:"type"`
	Syntax     string `json:"syntax"`
	Definition string `json:"definition"`
}

func newRequest(req model.Request, known catalog.Model, custom map[string]string) request {
	r := request{
		Model:          req.Model,
		Instructions:   req.System,
		Input:          input(req.Input, custom, stale(req.Input, req.Tools)),
		Stream:         true,
		PromptCacheKey: req.CacheKey,
	}
	r.nameSpaces(req.Tools)
	if req.MaxTokens > 0 {
		r.MaxOutputTokens = max(req.MaxTokens, minMaxOutput)
		if known.MaxOutput > 0 {
			r.MaxOutputTokens = min(r.MaxOutputTokens, known.MaxOutput)
		}
	}
	if known.Thinking != catalog.NoThinking {
		r.Reasoning = &reasoning{Effort: known.Effort(req.Effort), Summary: "auto"}
		r.Include = []string{"reasoning.encrypted_content"}
	}
	if len(req.Schema) > 0 {
		r.Text = &text{schemaFormat{"json_schema", jsonschema.Name, req.Schema, jsonschema.Strict(req.Schema)}}
	}
	r.Tools = tools(req.Tools, custom)
	if req.Search { // developers.openai.com/api/docs/guides/tools-web-search
		r.Tools = []*tool{{Type: "web_search"}}
		return r
	}
	if len(r.Tools) > 0 {
		r.ParallelToolCalls = new(true)
		if req.NoCalls { // without tools, it is an error to name a choice
			r.ToolChoice = "none"
		}
	}
	return r
}

func newTool(t *model.ToolSpec, custom map[string]string) *tool {
	if _, ok := custom[t.Name]; ok {
		return &tool{
			Type:        "custom",
			Name:        t.Name,
			Description: t.Description,
			Format:      &format{"grammar", "lark", t.Grammar},
		}
	}
	return &tool{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Schema, Strict: new(false)}
}

// customTools returns the only property of each tool that becomes a custom
// tool: one with a grammar, for a model that knows such tools.
func customTools(tools []model.ToolSpec, known catalog.Model) map[string]string {
	custom := map[string]string{}
	for _, t := range tools {
		if t.Grammar == "" || !known.Grammar || t.Deferred != "" {
			continue
		}
		var schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if json.Unmarshal(t.Schema, &schema) != nil || len(schema.Properties) != 1 {
			continue
		}
		for name := range schema.Properties {
			custom[t.Name] = name
		}
	}
	return custom
}

func input(items []model.Item, custom map[string]string, stale map[int]bool) []item {
	list := []item{}
	free := map[string]bool{} // call ids of custom tool calls
	for n, it := range items {
		switch it.Role {
		case model.User:
			if parts := userParts(it); len(parts) > 0 {
				list = append(list, item{Type: "message", Role: "user", Content: parts})
			}
		case model.Assistant:
			if it.Text != "" {
				message := item{Type: "message", Role: "assistant", Content: it.Text}
				if it.Signature != nil && it.Signature.Format == event.SignaturePhase {
					message.Phase = it.Signature.Data
				}
				list = append(list, message)
			}
		case model.Reasoning:
			if stale[n] {
				continue
			}
			if raw := attached(it, event.SignatureItem); raw != nil {
				list = append(list, item{members: raw})
			} else if it.Signature != nil && it.Signature.Format == event.SignatureEncrypted {
				list = append(list, reasoningItem(it))
			}
		case model.Call:
			text, ok := unwrap(it.Arguments, custom[it.Name])
			if ok {
				free[it.CallID] = true
				list = append(
					list,
					item{
						Type:    "custom_tool_call",
						CallID:  it.CallID,
						Name:    it.Name,
						Input:   &text,
						members: attached(it, event.SignatureMembers),
					},
				)
				continue
			}
			list = append(list, item{
				Type:      "function_call",
				CallID:    it.CallID,
				Name:      it.Name,
				Arguments: string(transport.Arguments(it.Arguments)),
				members:   attached(it, event.SignatureMembers),
			})
		case model.Output:
			kind := "function_call_output"
			if free[it.CallID] {
				kind = "custom_tool_call_output"
			}
			list = append(list, item{Type: kind, CallID: it.CallID, Output: &it.Text})
		}
	}
	return list
}

// grouped moves items between the calls of a response before them, for DeepSeek, which otherwise
// reports that the first call has no output.
func grouped(items []model.Item) []model.Item {
	out := make([]model.Item, 0, len(items))
	first := -1 // the first call of the response, in out
	for _, it := range items {
		switch {
		case it.Role == model.Call && first < 0:
			first = len(out)
		case it.Role == model.User || it.Role == model.Output:
			first = -1
		case it.Role != model.Call && first >= 0:
			out = slices.Insert(out, first, it)
			first++
			continue
		}
		out = append(out, it)
	}
	return out
}

func userParts(it model.Item) []part {
	var parts []part
	if it.Text != "" {
		parts = append(parts, part{Type: "input_text", Text: it.Text})
	}
	for _, d := range it.Documents {
		parts = append(parts, part{
			Type: "input_file", Filename: transport.Filename(d), FileData: transport.DocumentURL(d),
		})
	}
	for _, image := range it.Images {
		parts = append(parts, part{Type: "input_image", ImageURL: transport.DataURL(image), Detail: "auto"})
	}
	return parts
}

func reasoningItem(it model.Item) item {
	summary := []part{}
	if it.Text != "" {
		summary = append(summary, part{Type: "summary_text", Text: it.Text})
	}
	return item{Type: "reasoning", ID: it.ID, Summary: &summary, EncryptedContent: it.Signature.Data}
}

// unwrap returns the free text that arguments are a wrapping of.
func unwrap(arguments, property string) (string, bool) {
	if property == "" {
		return "", false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &members) != nil || len(members) != 1 {
		return "", false
	}
	var text string
	if raw, ok := members[property]; !ok || json.Unmarshal(raw, &text) != nil {
		return "", false
	}
	return text, true
}
