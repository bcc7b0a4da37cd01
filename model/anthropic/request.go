package anthropic

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
	Model        string        `json:"model"`
	MaxTokens    int           `json:"max_tokens"`
	Stream       bool          `json:"stream"`
	System       []block       `json:"system,omitempty"`
	Tools        []*tool       `json:"tools,omitempty"`
	Messages     []message     `json:"messages"`
	Thinking     *thinking     `json:"thinking,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
}

type tool struct {
	Type         string          `json:"type,omitempty"`
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema,omitempty"`
	MaxUses      int             `json:"max_uses,omitempty"`
	DeferLoading bool            `json:"defer_loading,omitempty"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is a content block of any type.
type block struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	Thinking     *string         `json:"thinking,omitempty"`
	Signature    string          `json:"signature,omitempty"`
	Data         string          `json:"data,omitempty"`
	Source       *source         `json:"source,omitempty"`
	Title        string          `json:"title,omitempty"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Content      []block         `json:"content,omitempty"`
	IsError      bool            `json:"is_error,omitempty"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`

	raw json.RawMessage // instead of all else
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

type cacheControl struct {
	Type string `json:"type"`
}

type thinking struct {
	Type         string        `json:"type"`
	BudgetTokens int           `json:"budget_tokens,omitempty"`
	Display      string        `json:"display,omitempty"`
	BlockBinding *blockBinding `json:"block_binding,omitempty"`
}

type blockBinding struct {
	PrefixMismatchBehavior string `json:"prefix_mismatch_behavior"`
}

type outputConfig struct {
	Effort string        `json:"effort,omitempty"`
	Format *outputFormat `json:"format,omitempty"`
}

// outputFormat is the requested form of the answer.
type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

func ephemeral() *cacheControl { return &cacheControl{"ephemeral"} }

// newRequest omits tool_choice, even if the answer must not call a tool: another choice
// keeps the cache of tools and system, and loses the cache of the messages
// (platform.claude.com/docs/en/agents-and-tools/tool-use/tool-use-with-prompt-caching).
func newRequest(req model.Request, known catalog.Model) request {
	r := request{
		Model:     req.Model,
		MaxTokens: maxTokens(req.MaxTokens, known.MaxOutput),
		Stream:    true,
		Messages:  messages(req.Input, req.Tools),
	}
	if req.System != "" {
		r.System = []block{{Type: "text", Text: req.System, CacheControl: ephemeral()}}
	}
	r.Tools = tools(req.Tools)
	if req.Search {
		r.Tools = []*tool{searchTool()}
	}
	markCache(r.Messages)
	r.think(req.Effort, known)
	if len(req.Schema) > 0 {
		if r.OutputConfig == nil {
			r.OutputConfig = &outputConfig{}
		}
		r.OutputConfig.Format = &outputFormat{"json_schema", jsonschema.Closed(req.Schema)}
	}
	return r
}

// fillThinking adds a thinking block to each message that has calls and none, because
// DeepSeek refuses such a message.
func (r *request) fillThinking() {
	text := "(not kept)"
	for i, m := range r.Messages {
		calls, thinks := false, false
		for _, b := range m.Content {
			calls, thinks = calls ||
				b.Type == "tool_use", thinks || b.Type == "thinking" ||
				b.Type == "redacted_thinking"
		}
		if calls && !thinks {
			r.Messages[i].Content = slices.Insert(m.Content, 0, block{Type: "thinking", Thinking: &text})
		}
	}
}

// maxTokens is the number that the API demands.
func maxTokens(requested, largest int) int {
	switch {
	case requested > 0 && largest > 0:
		return min(requested, largest)
	case requested > 0:
		return requested
	case largest > 0:
		return largest
	}
	return fallbackMaxTokens
}

// think asks for thinking in the way that the model has. Thinking is shown
// (summarised), since some models else return it empty, with the text that
// they write between tool calls.
func (r *request) think(effort string, known catalog.Model) {
	switch known.Thinking {
	case catalog.ByBudget:
		if budget := min(budgetOf(effort), r.MaxTokens-1024); budget >= 1024 && r.mayThink() {
			r.Thinking = &thinking{Type: "enabled", BudgetTokens: budget}
		}
		return
	case catalog.Adaptive, catalog.AdaptiveBetween, catalog.AdaptiveAlways:
		r.Thinking = &thinking{Type: "adaptive", Display: "summarized"}
	default:
		return
	}
	if known.BoundThinking {
		r.Thinking.BlockBinding = &blockBinding{"drop_block"}
	}
	if effort == "none" {
		switch known.Thinking {
		case catalog.Adaptive:
			r.Thinking = &thinking{Type: "disabled"}
			return
		case catalog.AdaptiveBetween:
			r.Thinking = &thinking{Type: "between_tools"}
			return
		}
	}
	if effort = known.Effort(effort); effort != "" {
		r.OutputConfig = &outputConfig{Effort: effort}
	}
}

// mayThink reports whether the API lets a model with a budget think: amid a
// chain of tool calls it refuses to if the last response did not begin with
// thinking, which it does not when that was cut or was another model's (C6).
func (r *request) mayThink() bool {
	n := len(r.Messages)
	if n < 2 || r.Messages[n-1].Content[0].Type != "tool_result" {
		return true
	}
	first := r.Messages[n-2].Content[0].Type
	return first == "thinking" || first == "redacted_thinking"
}

// budgetOf returns the tokens to think with, for models that want a number.
func budgetOf(effort string) int {
	switch effort {
	case "none":
		return 0
	case "minimal":
		return 1024
	case "low":
		return 4096
	case "high":
		return 16_384
	case "xhigh", "max":
		return 31_999
	}
	return 8192
}

// messages joins consecutive items of one role, so that roles alternate, and puts tool results
// first in a user message, as the API requires.
func messages(items []model.Item, specs []model.ToolSpec) []message {
	var list []message
	results := 0 // at the front of the last message
	for _, item := range paired(items, specs) {
		role := "user"
		switch item.Role {
		case model.Assistant, model.Reasoning, model.Call:
			role = "assistant"
		}
		blocks := blocksOf(item)
		if len(blocks) == 0 {
			continue
		}
		if len(list) == 0 || list[len(list)-1].Role != role {
			list = append(list, message{Role: role})
			results = 0
		}
		last := &list[len(list)-1]
		if item.Role == model.Output {
			rest := append(blocks, last.Content[results:]...)
			last.Content = append(last.Content[:results:results], rest...)
			results++
			continue
		}
		last.Content = append(last.Content, blocks...)
	}
	return list
}

// blocksOf returns an item's content blocks; none if there is nothing that
// may be sent.
func blocksOf(item model.Item) []block {
	switch item.Role {
	case model.User:
		var blocks []block
		for _, d := range item.Documents {
			blocks = append(blocks, block{
				Type: "document", Source: &source{"base64", d.MediaType, transport.DocumentBase64(d)}, Title: d.Name,
			})
		}
		for _, image := range item.Images {
			blocks = append(
				blocks, block{Type: "image", Source: &source{"base64", image.MediaType, transport.Base64(image)}},
			)
		}
		return append(blocks, text(item.Text)...)
	case model.Assistant:
		return text(item.Text)
	case model.Reasoning:
		return reasoning(item)
	case model.Call:
		return []block{{Type: "tool_use", ID: item.CallID, Name: item.Name, Input: transport.Arguments(item.Arguments)}}
	case model.Output:
		result := block{Type: "tool_result", ToolUseID: item.CallID, Content: text(item.Text), IsError: item.Failed}
		if item.Failed && len(result.Content) == 0 {
			result.Content = text("failed without saying why") // an error must have content
		}
		return []block{result}
	}
	return nil
}

func text(s string) []block {
	if s == "" {
		return nil
	}
	return []block{{Type: "text", Text: s}}
}

// reasoning returns the thinking block that the API made, or nothing: without
// its signature it would be refused.
func reasoning(item model.Item) []block {
	if item.Signature == nil {
		return nil
	}
	switch item.Signature.Format {
	case event.SignatureThinking:
		return []block{{Type: "thinking", Thinking: &item.Text, Signature: item.Signature.Data}}
	case event.SignatureUnsigned:
		return []block{{Type: "thinking", Thinking: &item.Text}}
	case event.SignatureBlock:
		return rawBlock(item.Signature.Data)
	case event.SignatureRedacted:
		return []block{{Type: "redacted_thinking", Data: item.Signature.Data}}
	}
	return nil
}

// markCache sets a breakpoint at the end of the last two user messages.
func markCache(list []message) {
	left := 2
	for i := len(list) - 1; i >= 0 && left > 0; i-- {
		if list[i].Role == "user" {
			list[i].Content[len(list[i].Content)-1].CacheControl = ephemeral()
			left--
		}
	}
}
