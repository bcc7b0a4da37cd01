package task

import "encoding/json"

// The tools' names.
const (
	Name        = "task"
	NameCheck   = "check_task"
	NameMessage = "message_task"
	NameCancel  = "cancel_task"
)

// Names are the tools' names, in order.
func Names() []string { return []string{Name, NameCheck, NameMessage, NameCancel} }

// Arguments are those of the tool task.
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

const schema = `{
  "type": "object",
  "properties": {
    "description": {"type": "string", "description": "What the agent is to do, in 3 to 8 words, for the user."},
    "prompt": {"type": "string", "description": "The task. It knows nothing of this conversation: say all that it needs, and what to answer."},
    "background": {"type": "boolean", "description": "Return at once, and go on while the agent works. You are told when it ends."},
    "worktree": {"type": "boolean", "description": "Have it work in a git worktree and on a branch of its own, from the last commit, without what is not committed: for changes that could get in the way of others. It is removed if nothing changed; else you are told where it is."},
    "model": {"type": "string", "description": "Another model than yours, if the user asks for one."},
    "tools": {"type": "array", "items": {"type": "string"}, "description": "Those that it gets of your tools (default: all)."},
    "max_steps": {"type": "integer", "minimum": 1, "description": "End it after this many steps."},
    "timeout_ms": {"type": "integer", "minimum": 1, "description": "End it after this many milliseconds (default 3600000)."}
  },
  "required": ["description", "prompt"],
  "additionalProperties": false
}`

const checkSchema = `{
  "type": "object",
  "properties": {
    "task": {"type": "string", "description": "The agent's id; leave it out to list all."},
    "wait_ms": {"type": "integer", "minimum": 1, "description": "Wait for its end, or that of any, for at most this many milliseconds."}
  },
  "additionalProperties": false
}`

const messageSchema = `{
  "type": "object",
  "properties": {
    "task": {"type": "string", "description": "The agent's id."},
    "message": {"type": "string", "description": "What to tell it. It joins what the agent does."}
  },
  "required": ["task", "message"],
  "additionalProperties": false
}`

const cancelSchema = `{
  "type": "object",
  "properties": {"task": {"type": "string", "description": "The agent's id."}},
  "required": ["task"],
  "additionalProperties": false
}`

// reference is the arguments of the tools that are about one child.
type reference struct {
	Task    string `json:"task"`
	Message string `json:"message,omitempty"`
	WaitMS  int64  `json:"wait_ms,omitempty"`
}

func read(raw json.RawMessage) (r reference, err error) {
	err = json.Unmarshal(raw, &r)
	return r, err
}
