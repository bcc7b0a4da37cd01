package task

import (
	"sync"

	"github.com/settle-agent/settle/tool"
)

// The tools' names.
const (
	Name        = "task"
	NameCheck   = "check_task"
	NameMessage = "message_task"
	NameCancel  = "cancel_task"
)

// Names are the tools' names, in order.
func Names() []string { return []string{Name, NameCheck, NameMessage, NameCancel} }

// Arguments are the arguments of the tool task.
type Arguments struct {
	Description string   `json:"description"`
	Prompt      string   `json:"prompt"`
	Agent       string   `json:"agent,omitempty"`
	Background  bool     `json:"background,omitempty"`
	Worktree    bool     `json:"worktree,omitempty"`
	Model       string   `json:"model,omitempty"`
	Tools       []string `json:"tools,omitempty"`
	MaxSteps    int      `json:"max_steps,omitempty"`
	TimeoutMS   int64    `json:"timeout_ms,omitempty"`
}

// schema returns the schema of task; a call can choose a kind if there are kinds.
func schema(kinds []Kind) tool.Option {
	agent := ""
	if len(kinds) > 0 {
		agent = `
    "agent": ` + property(kinds) + ","
	}
	return tool.WithSchema(`{
  "type": "object",
  "properties": {` + agent + `
    "description": {"type": "string", "description": "3 to 8 words, for the user."},
    "prompt": {"type": "string", "description": "The agent does not see this conversation: include all that it needs, and what to answer."},
    "background": {"type": "boolean", "description": "Return at once; you receive the result when it ends."},
    "worktree": {"type": "boolean", "description": "Work in a new git worktree and branch of the last commit, without uncommitted changes: for changes that could conflict. If unchanged, it is removed; otherwise you receive its path."},
    "model": {"type": "string", "description": "Another model; only if the user asks."},
    "tools": {"type": "array", "items": {"type": "string"}, "description": "Some of your tools; default: all."},
    "max_steps": {"type": "integer", "minimum": 1},
    "timeout_ms": {"type": "integer", "minimum": 1, "description": "Default 3600000."}
  },
  "required": ["description", "prompt"],
  "additionalProperties": false
}`)
}

var checkSchema = sync.OnceValue(func() tool.Option {
	return tool.WithSchema(`{
  "type": "object",
  "properties": {
    "task": {"type": "string", "description": "Default: all."},
    "wait_ms": {"type": "integer", "minimum": 1}
  },
  "additionalProperties": false
}`)
})

var messageSchema = sync.OnceValue(func() tool.Option {
	return tool.WithSchema(`{
  "type": "object",
  "properties": {
    "task": {"type": "string"},
    "message": {"type": "string"}
  },
  "required": ["task", "message"],
  "additionalProperties": false
}`)
})

var cancelSchema = sync.OnceValue(func() tool.Option {
	return tool.WithSchema(`{
  "type": "object",
  "properties": {"task": {"type": "string"}},
  "required": ["task"],
  "additionalProperties": false
}`)
})

// reference are the arguments of the tools that act on one child.
type reference struct {
	Task    string `json:"task"`
	Message string `json:"message,omitempty"`
	WaitMS  int64  `json:"wait_ms,omitempty"`
}
