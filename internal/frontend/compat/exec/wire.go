package exec

import (
	"encoding/json"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/tool/plan"
)

// The lines, as @openai/codex-sdk 0.163.0 declares them and codex 0.169.0
// prints them.

// threadEvent is a line of any type.
type threadEvent struct {
	Type     string       `json:"type"`
	ThreadID string       `json:"thread_id,omitempty"`
	Item     any          `json:"item,omitempty"`
	Usage    *usage       `json:"usage,omitempty"`
	Error    *threadError `json:"error,omitempty"`
	Message  string       `json:"message,omitempty"`
}

type threadError struct {
	Message string `json:"message"`
}

type usage struct {
	Input      int64 `json:"input_tokens"`
	Cached     int64 `json:"cached_input_tokens"`
	CacheWrite int64 `json:"cache_write_input_tokens"`
	Output     int64 `json:"output_tokens"`
	Reasoning  int64 `json:"reasoning_output_tokens"`
}

func usageOf(u event.Usage) *usage {
	return &usage{
		Input:      u.Input,
		Cached:     u.CacheRead,
		CacheWrite: u.CacheWrite,
		Output:     u.Output,
		Reasoning:  u.Reasoning,
	}
}

// status is the status of a work item.
type status string

const (
	inProgress status = "in_progress"
	completed  status = "completed"
	failed     status = "failed"
)

// head has the common fields of all items.
type head struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

// textItem is an agent_message or reasoning.
type textItem struct {
	head
	Text string `json:"text"`
}

// errorItem is something that went wrong and did not end the turn.
type errorItem struct {
	head
	Message string `json:"message"`
}

type commandItem struct {
	head
	Command  string `json:"command"`
	Output   string `json:"aggregated_output"`
	ExitCode *int   `json:"exit_code"`
	Status   status `json:"status"`
}

type fileItem struct {
	head
	Changes []fileChange `json:"changes"`
	Status  status       `json:"status"`
}

type fileChange struct {
	Path string `json:"path"`
	Kind string `json:"kind"` // add, delete or update
}

// toolItem is a call of a tool that has no type of its own.
type toolItem struct {
	head
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    *toolResult     `json:"result"`
	Error     *threadError    `json:"error"`
	Status    status          `json:"status"`
}

// searchItem is a search of the web. Clients know its query and action; other fields
// have its outcome.
type searchItem struct {
	head
	Query   string            `json:"query"`
	Action  searchAction      `json:"action"`
	Status  status            `json:"status"`
	Results []toolview.Source `json:"results,omitempty"`
	Error   *threadError      `json:"error,omitempty"`
}

type searchAction struct {
	Type  string `json:"type"`
	Query string `json:"query"`
}

// planItem is the plan, one item from its first call to the turn's end.
type planItem struct {
	head
	Items []planStep `json:"items"`
}

type planStep struct {
	Text      string `json:"text"`
	Completed bool   `json:"completed"`
}

func planItemOf(id string, in plan.Arguments) *planItem {
	p := &planItem{head: head{id, "todo_list"}, Items: []planStep{}}
	for _, s := range in.Plan {
		p.Items = append(p.Items, planStep{s.Step, s.Status == plan.Completed})
	}
	return p
}

type toolResult struct {
	Content    []toolContent   `json:"content"`
	Structured json.RawMessage `json:"structured_content"`
}

type toolContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// appendLine appends the event as a line.
func appendLine(b []byte, e threadEvent) []byte {
	b, _ = jsonrpc.Append(b, e) // strings, numbers, and JSON that was read as such
	return b
}

// Refusal returns the output if no turn can start: the error, and an event that reports the
// failure. message must be without secrets.
func Refusal(message string) []byte {
	b := appendLine(nil, threadEvent{Type: "error", Message: message})
	return appendLine(b, threadEvent{Type: "turn.failed", Error: &threadError{message}})
}
