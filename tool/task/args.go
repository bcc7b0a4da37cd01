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
	Background  bool     `json:"background,omitempty"`
	Worktree    bool     `json:"worktree,omitempty"`
	Model       string   `json:"model,omitempty"`
	Tools       []string `json:"tools,omitempty"`
	MaxSteps    int      `json:"max_steps,omitempty"`
	TimeoutMS   int64    `json:"timeout_ms,omitempty"`
}

var schema = sync.OnceValue(func() tool.Option {
	return tool.WithSchema(`{
  "type": "object",
  "properties": {
    "description": {"type": "string", "description": "The task in 3 to 8 words, for the user."},
    "prompt": {"type": "string", "description": "The task. The agent does not see this conversation: include everything that it needs, and what it should answer."},
    "background": {"type": "boolean", "description": "Return at once and continue while the agent works. You receive its result when it ends."},
    "worktree": {"type": "boolean", "description": "Let the agent work in its own git worktree and branch, from the last commit, without uncommitted changes: for changes that could conflict with other work. It is removed if nothing changed; otherwise you receive its path."},
    "model": {"type": "string", "description": "Another model, if the user asks for one."},
    "tools": {"type": "array", "items": {"type": "string"}, "description": "The tools of yours that the agent gets (default: all)."},
    "max_steps": {"type": "integer", "minimum": 1, "description": "End the agent after this many steps."},
    "timeout_ms": {"type": "integer", "minimum": 1, "description": "End the agent after this many milliseconds (default 3600000)."}
  },
  "required": ["description", "prompt"],
  "additionalProperties": false
}`)
})

var checkSchema = sync.OnceValue(func() tool.Option {
	return tool.WithSchema(`{
  "type": "object",
  "properties": {
    "task": {"type": "string", "description": "The agent's id; omit it to list all agents."},
    "wait_ms": {"type": "integer", "minimum": 1, "description": "Wait for the end of this agent, or of any, for at most this many milliseconds."}
  },
  "additionalProperties": false
}`)
})

var messageSchema = sync.OnceValue(func() tool.Option {
	return tool.WithSchema(`{
  "type": "object",
  "properties": {
    "task": {"type": "string"},
    "message": {"type": "string", "description": "The message. The agent reads it before its next step."}
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
