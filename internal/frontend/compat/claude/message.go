package claude

import (
	"encoding/json"
	"maps"

	"github.com/google/uuid"

	"github.com/settle-agent/settle/event"
)

// The messages of the protocol, as the declarations in sdk.d.ts of
// @anthropic-ai/claude-agent-sdk 0.3.330 have them.

// Imitated is the version of Claude Code that is stood in for.
const Imitated = "2.1.330"

// header has the common fields of all messages to the client's user.
type header struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype,omitempty"`
	Session string `json:"session_id"`
	UUID    string `json:"uuid"`
}

func newHeader(session, kind, subtype string) header {
	return header{Type: kind, Subtype: subtype, Session: session, UUID: uuid.NewString()}
}

// chatMessage is a message of the model or of its tools.
type chatMessage struct {
	header
	parent
	Message    any      `json:"message"`
	Error      string   `json:"error,omitempty"`
	Aborted    bool     `json:"aborted,omitempty"`
	Supersedes []string `json:"supersedes,omitempty"`
	UserUUID   string   `json:"user_message_uuid,omitempty"`
	Result     any      `json:"tool_use_result,omitempty"`
	Replay     bool     `json:"isReplay,omitempty"`
}

// userMessage is a message of Anthropic's Messages API from the user, with the
// results of tools.
type userMessage struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// apiMessage is one from the model.
type apiMessage struct {
	userMessage
	ID         string    `json:"id"`
	Type       string    `json:"type"`
	Model      string    `json:"model"`
	StopReason *string   `json:"stop_reason"`
	Sequence   *string   `json:"stop_sequence"`
	Usage      *apiUsage `json:"usage"`
}

// block is a part of a message.
type block struct {
	Type string `json:"type"`

	Text      *string        `json:"text,omitempty"`
	Thinking  *string        `json:"thinking,omitempty"`
	Signature *string        `json:"signature,omitempty"`
	Data      string         `json:"data,omitempty"`
	ID        string         `json:"id,omitempty"`
	Name      string         `json:"name,omitempty"`
	Input     map[string]any `json:"input,omitzero"`
	Call      string         `json:"tool_use_id,omitempty"`
	Content   *string        `json:"content,omitempty"`
	IsError   *bool          `json:"is_error,omitempty"`
	Source    *source        `json:"source,omitempty"`
}

// source is a picture in a block.
type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"`
}

func textBlock(text string) block { return block{Type: "text", Text: &text} }

// apiUsage counts tokens as Anthropic does.
type apiUsage struct {
	Input      int64  `json:"input_tokens"`
	CacheWrite int64  `json:"cache_creation_input_tokens"`
	CacheRead  int64  `json:"cache_read_input_tokens"`
	Output     int64  `json:"output_tokens"`
	Tier       string `json:"service_tier"`
	Server     struct {
		Search int `json:"web_search_requests"`
		Fetch  int `json:"web_fetch_requests"`
	} `json:"server_tool_use"`
	Creation struct {
		Short int64 `json:"ephemeral_5m_input_tokens"`
		Long  int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

// usageOf returns the usage, with tokens read from and written to the cache separate from
// the rest of the input.
func usageOf(u event.Usage) *apiUsage {
	return &apiUsage{
		Input:      max(0, u.Input-u.CacheRead-u.CacheWrite),
		CacheWrite: u.CacheWrite,
		CacheRead:  u.CacheRead,
		Output:     u.Output,
		Tier:       "standard",
	}
}

// modelUsage is the usage of a model by this process.
type modelUsage struct {
	Input      int64   `json:"inputTokens"`
	Output     int64   `json:"outputTokens"`
	Thinking   int64   `json:"thinkingTokens,omitempty"`
	CacheRead  int64   `json:"cacheReadInputTokens"`
	CacheWrite int64   `json:"cacheCreationInputTokens"`
	Searches   int     `json:"webSearchRequests"`
	Cost       float64 `json:"costUSD"` // as far as prices are known
	Window     int     `json:"contextWindow"`
	MaxOutput  int     `json:"maxOutputTokens"`
}

// denial is a call that was not allowed to run.
type denial struct {
	Tool  string         `json:"tool_name"`
	Call  string         `json:"tool_use_id"`
	Input map[string]any `json:"tool_input"`
}

// result ends each turn.
type result struct {
	header
	IsError     bool                  `json:"is_error"`
	Duration    int64                 `json:"duration_ms"`
	DurationAPI int64                 `json:"duration_api_ms"`
	Turns       int                   `json:"num_turns"`
	StopReason  *string               `json:"stop_reason"`
	Cost        float64               `json:"total_cost_usd"` // of this process, as far as prices are known
	Usage       *apiUsage             `json:"usage"`
	Models      map[string]modelUsage `json:"modelUsage"`
	Denials     []denial              `json:"permission_denials"`
	Result      *string               `json:"result,omitempty"`
	Structured  json.RawMessage       `json:"structured_output,omitempty"`
	Errors      []string              `json:"errors,omitempty"`
	Terminal    string                `json:"terminal_reason,omitempty"`
	Queued      int                   `json:"queued_turn_count"`
	Index       int                   `json:"result_index"`
	UserUUID    string                `json:"user_message_uuid,omitempty"`
	UserUUIDs   []string              `json:"user_message_uuids,omitempty"`
}

// notice is a message that one place sends, or that has few fields.
type notice map[string]any

func newMessage(session, kind string, more map[string]any) notice {
	n := notice{"type": kind, "session_id": session, "uuid": uuid.NewString()}
	maps.Copy(n, more)
	return n
}

func newNotice(session, subtype string, more map[string]any) notice {
	n := newMessage(session, "system", more)
	n["subtype"] = subtype
	return n
}
