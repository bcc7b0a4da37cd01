package acp

import "encoding/json"

// protocolVersion is the supported version of the protocol.
const protocolVersion = 1

// codeNotFound is the protocol's code for a session that there is not.
const codeNotFound = -32002

type object map[string]any

type clientCapabilities struct {
	FS struct {
		ReadTextFile  bool `json:"readTextFile"`
		WriteTextFile bool `json:"writeTextFile"`
	} `json:"fs"`
	Session struct {
		Notices *struct{} `json:"notices"`
	} `json:"session"`
	Elicitation struct {
		Form *struct{} `json:"form"`
		URL  *struct{} `json:"url"`
	} `json:"elicitation"`
	Meta struct {
		// TerminalOutput: calls of commands may show as terminals that the agent
		// feeds. It is a convention of Zed's, which others follow.
		TerminalOutput bool `json:"terminal_output"`
	} `json:"_meta"`
}

type initializeParams struct {
	ClientCapabilities clientCapabilities `json:"clientCapabilities"`
	ClientInfo         struct {
		Name string `json:"name"`
	} `json:"clientInfo"`
}

type authenticateParams struct {
	MethodID string `json:"methodId"`
}

// setup has the parameters of session/new, session/load and session/resume.
type setup struct {
	SessionID             string      `json:"sessionId"`
	Cwd                   string      `json:"cwd"`
	AdditionalDirectories []string    `json:"additionalDirectories"`
	MCPServers            []mcpServer `json:"mcpServers"`
	Meta                  struct {
		// SystemPrompt is a text, or an object whose "append" is one.
		SystemPrompt json.RawMessage `json:"systemPrompt"`
	} `json:"_meta"`
}

// mcpServer is a server whose tools the session is to have: a command, unless it
// says another type.
type mcpServer struct {
	Type    string      `json:"type"`
	Name    string      `json:"name"`
	Command string      `json:"command"`
	Args    []string    `json:"args"`
	Env     []namedText `json:"env"`
	URL     string      `json:"url"`
	Headers []namedText `json:"headers"`
}

type namedText struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// about has the parameters of a request about a session.
type about struct {
	SessionID string `json:"sessionId"`
	ModeID    string `json:"modeId"`
	ConfigID  string `json:"configId"`
	Value     any    `json:"value"`
}

type listParams struct {
	Cwd    string `json:"cwd"`
	Cursor string `json:"cursor"`
}

type promptParams struct {
	SessionID string  `json:"sessionId"`
	Prompt    []block `json:"prompt"`
}

// block is a piece of content.
type block struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	Data     []byte    `json:"data,omitempty"`
	MimeType string    `json:"mimeType,omitempty"`
	Name     string    `json:"name,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Resource *resource `json:"resource,omitempty"`
}

type resource struct {
	URI      string  `json:"uri"`
	MimeType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     []byte  `json:"blob,omitempty"`
}

// textPiece is a piece of text.
func textPiece(text string) object { return object{"type": "text", "text": text} }

// choice is something that the client may choose.
type choice struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Updates of a session.

type sessionUpdate struct {
	SessionID string `json:"sessionId"`
	Update    any    `json:"update"`
}

type chunk struct {
	Update    string `json:"sessionUpdate"`
	Content   object `json:"content"`
	MessageID string `json:"messageId,omitempty"`
}

// The kinds of chunks.
const (
	userChunk    = "user_message_chunk"
	agentChunk   = "agent_message_chunk"
	thoughtChunk = "agent_thought_chunk"
)

// toolCall is a new call or, as tool_call_update, the changed fields of one.
type toolCall struct {
	Update    string          `json:"sessionUpdate,omitempty"`
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title,omitempty"`
	Kind      string          `json:"kind,omitempty"`
	Status    string          `json:"status,omitempty"`
	Content   []object        `json:"content,omitempty"`
	Locations []location      `json:"locations,omitempty"`
	RawInput  json.RawMessage `json:"rawInput,omitempty"`
	RawOutput any             `json:"rawOutput,omitempty"`
	Meta      object          `json:"_meta,omitempty"`
}

type location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

type permissionResult struct {
	Outcome struct {
		Outcome  string `json:"outcome"`
		OptionID string `json:"optionId"`
	} `json:"outcome"`
}
