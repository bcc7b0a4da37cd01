package atif

import (
	"time"

	"github.com/settle-agent/settle/event"
)

// Version is the format version that documents declare.
const Version = "ATIF-v1.7"

// Trajectory is a document.
type Trajectory struct {
	SchemaVersion string       `json:"schema_version"`
	SessionID     string       `json:"session_id"`
	TrajectoryID  string       `json:"trajectory_id"`
	Agent         Agent        `json:"agent"`
	Steps         []Step       `json:"steps"`
	Notes         string       `json:"notes,omitempty"`
	FinalMetrics  FinalMetrics `json:"final_metrics"`
	Extra         any          `json:"extra,omitempty"`
	Children      []Trajectory `json:"subagent_trajectories,omitempty"`
}

// Agent is the agent that acted.
type Agent struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	ModelName string `json:"model_name,omitempty"`
}

// The sources of steps.
const (
	fromUser   = "user"
	fromAgent  = "agent"
	fromSystem = "system"
)

// Step is one step of the conversation. Only steps of the agent have the fields after
// Message.
type Step struct {
	ID        int        `json:"step_id"` // from 1, without gaps
	Timestamp *time.Time `json:"timestamp,omitempty"`
	Source    string     `json:"source"`
	Message   string     `json:"message"`

	ModelName   string       `json:"model_name,omitempty"`
	Effort      string       `json:"reasoning_effort,omitempty"`
	Reasoning   string       `json:"reasoning_content,omitempty"`
	ToolCalls   []ToolCall   `json:"tool_calls,omitempty"`
	Observation *Observation `json:"observation,omitempty"`
	Metrics     *Metrics     `json:"metrics,omitempty"`
	Extra       *StepExtra   `json:"extra,omitempty"`
}

// ToolCall is a call of a tool.
type ToolCall struct {
	ID        string `json:"tool_call_id"`
	Name      string `json:"function_name"`
	Arguments any    `json:"arguments"` // an object
}

// Observation is the results of calls.
type Observation struct {
	Results []Result `json:"results"`
}

// Result is the result of a call.
type Result struct {
	Call    string `json:"source_call_id"`
	Content string `json:"content"`
}

// Metrics count the tokens of a request; cached tokens are part of the prompt's tokens.
type Metrics struct {
	Prompt     int64    `json:"prompt_tokens"`
	Completion int64    `json:"completion_tokens"`
	Cached     int64    `json:"cached_tokens"`
	Cost       *float64 `json:"cost_usd,omitempty"`

	PromptIDs     []int32   `json:"prompt_token_ids,omitempty"`
	CompletionIDs []int32   `json:"completion_token_ids,omitempty"`
	Logprobs      []float64 `json:"logprobs,omitempty"`
}

// StepExtra holds data that the format has no field for.
type StepExtra struct {
	// Outcome of the attempt, if it did not complete, and why.
	Outcome string `json:"outcome,omitempty"`
	Error   string `json:"error,omitempty"`
	// Calls that did not simply succeed, or that ran with other arguments, by id.
	Calls map[string]CallExtra `json:"calls,omitempty"`
	// Ended describes the end of the turn whose last step this is. Cause is the same for programs.
	Ended string       `json:"turn_ended,omitempty"`
	Cause *event.Cause `json:"turn_cause,omitempty"`
}

// CallExtra describes the end of a call.
type CallExtra struct {
	Status   string `json:"status"`
	Effects  string `json:"effects,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"`
	// Cause is the reason of an abort.
	Cause *event.Cause `json:"cause,omitempty"`
	// Ran are the arguments that the call ran with, if they differ from the model's. ChangedBy
	// names the author of the change: "user" or "hook".
	Ran       string `json:"effective_arguments,omitempty"`
	ChangedBy string `json:"changed_by,omitempty"`
}

// FinalMetrics are the sums over a session, its children not included. The cost is left
// out where the price of a request is not known.
type FinalMetrics struct {
	Prompt     int64    `json:"total_prompt_tokens"`
	Completion int64    `json:"total_completion_tokens"`
	Cached     int64    `json:"total_cached_tokens"`
	Cost       *float64 `json:"total_cost_usd,omitempty"`
	Steps      int      `json:"total_steps"`
	Extra      Sums     `json:"extra"`
}

// Sums are figures of settle's own.
type Sums struct {
	Requests int    `json:"requests"`
	Calls    int    `json:"calls"`
	Outcome  string `json:"outcome"` // of the last turn: completed, aborted, failed or running
	Cause    string `json:"cause,omitempty"`
}
