package mcp

import (
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/store"
)

// The tools.
const (
	toolRun       = "run"
	toolReply     = "reply"
	toolInterrupt = "interrupt"
	toolStatus    = "status"
	toolSessions  = "sessions"
)

// runInput is a task for a new session.
type runInput struct {
	Prompt     string         `json:"prompt" jsonschema:"the task"`
	Dir        string         `json:"cwd,omitempty" jsonschema:"the directory to work in; relative to the server's, which is the default"`
	Model      string         `json:"model,omitempty" jsonschema:"the model, as PROVIDER/NAME; the configured one is the default"`
	Effort     string         `json:"effort,omitempty" jsonschema:"how much the model thinks: none, minimal, low, medium, high, xhigh or max"`
	Permission string         `json:"permission,omitempty" jsonschema:"ask or deny: a stricter policy than the configured one for calls that could change something"`
	Schema     map[string]any `json:"schema,omitempty" jsonschema:"a JSON Schema of type object for the answer"`
}

// replyInput is an input for a session.
type replyInput struct {
	Session string         `json:"session" jsonschema:"the session's id"`
	Prompt  string         `json:"prompt" jsonschema:"the message"`
	Mode    string         `json:"mode,omitempty" jsonschema:"what happens if a turn is running: queue (wait for its end, the default), steer (join it at its next model request) or replace (take its place)"`
	Schema  map[string]any `json:"schema,omitempty" jsonschema:"a JSON Schema of type object for the answer"`
}

// result describes the end of a turn.
type result struct {
	Session string `json:"session" jsonschema:"the session's id"`
	Turn    string `json:"turn,omitempty" jsonschema:"the turn's id"`
	Outcome string `json:"outcome" jsonschema:"completed, aborted, failed, or held: it waits, and runs with the next input"`
	// AbortReason is the reason why the turn was aborted or held.
	AbortReason event.Reason `json:"abortReason,omitempty" jsonschema:"why it was aborted: interrupted, replaced, shutdown, limit"`
	Message     string       `json:"message,omitempty" jsonschema:"how it ended, in words, unless it completed"`
	Error       *failure     `json:"error,omitempty" jsonschema:"why it failed"`
	Answer      string       `json:"answer" jsonschema:"the model's last message"`
	Value       any          `json:"value,omitempty" jsonschema:"the answer as JSON, if you gave a schema"`
	Model       string       `json:"model,omitempty" jsonschema:"the model, as PROVIDER/NAME"`
	Steps       int          `json:"steps" jsonschema:"responses of the model"`
	Calls       int          `json:"calls" jsonschema:"tool calls that started"`
	Denied      int          `json:"denied,omitempty" jsonschema:"calls that were denied"`
	Usage       *usage       `json:"usage,omitempty"`
	Jobs        []background `json:"jobs,omitempty" jsonschema:"background processes of the session"`
}

// failure is the reason why a turn failed.
type failure struct {
	Name    string `json:"name" jsonschema:"stable, for programs"`
	Kind    string `json:"kind,omitempty" jsonschema:"the kind of fault of a provider"`
	Status  int    `json:"status,omitempty" jsonschema:"the HTTP status, where there was one"`
	Message string `json:"message"`
}

// usage is the token usage of a turn.
type usage struct {
	Input     int64 `json:"input"`
	CacheRead int64 `json:"cacheRead,omitempty"`
	Output    int64 `json:"output"`
	Reasoning int64 `json:"reasoning,omitempty"`
}

// background is a process that outlives its call.
type background struct {
	Job     string `json:"job"`
	PID     int    `json:"pid"`
	Command string `json:"command"`
}

// interruptInput selects the turns to end.
type interruptInput struct {
	Session string `json:"session,omitempty" jsonschema:"the session whose turn to end; default: all turns that this client's requests wait for"`
}

// interruptResult describes the ended turns.
type interruptResult struct {
	Outcome     string       `json:"outcome" jsonschema:"how the turn ended: aborted, or completed or failed if it did so first; idle if nothing was running"`
	AbortReason event.Reason `json:"abortReason,omitempty" jsonschema:"why it was aborted: interrupted, or replaced, shutdown, limit if that came first"`
	Message     string       `json:"message"`
	Turns       []turnEnd    `json:"turns" jsonschema:"the turns, if there were any"`
}

// turnEnd is a turn that has ended.
type turnEnd struct {
	Session     string        `json:"session"`
	Turn        string        `json:"turn"`
	Outcome     event.Outcome `json:"outcome"`
	AbortReason event.Reason  `json:"abortReason,omitempty"`
	Message     string        `json:"message"`
}

// statusInput selects a session.
type statusInput struct {
	Session string `json:"session" jsonschema:"the session's id"`
}

// status is the present state of a session.
type status struct {
	Session   string         `json:"session"`
	State     store.State    `json:"state" jsonschema:"idle, running, waiting (for approval of a call) or closed (not open in this server)"`
	Dir       string         `json:"cwd,omitempty" jsonschema:"the working directory"`
	Model     string         `json:"model,omitempty" jsonschema:"of the last turn, as PROVIDER/NAME"`
	Turn      string         `json:"turn,omitempty" jsonschema:"the turn that runs, or the last one"`
	Seconds   float64        `json:"seconds,omitempty" jsonschema:"how long that turn has been running, or took"`
	Outcome   string         `json:"outcome,omitempty" jsonschema:"how the last turn ended, if none runs"`
	Message   string         `json:"message,omitempty" jsonschema:"how the last turn ended, in words"`
	Answer    string         `json:"answer,omitempty" jsonschema:"the last message that the model finished in that turn"`
	Doing     []string       `json:"doing,omitempty" jsonschema:"the calls that are running or waiting for approval"`
	Waiting   []waitingInput `json:"waiting,omitempty" jsonschema:"inputs that no turn has started with yet"`
	Approvals []string       `json:"approvals,omitempty" jsonschema:"calls that are waiting for approval"`
	Jobs      []background   `json:"jobs,omitempty" jsonschema:"background processes of the session"`
}

// waitingInput is an input that no turn has taken yet.
type waitingInput struct {
	Text string `json:"text"`
	Held bool   `json:"held,omitempty" jsonschema:"it runs with the next input"`
}

// sessionsInput bounds the list of sessions.
type sessionsInput struct {
	Limit int `json:"limit,omitempty" jsonschema:"the most to list; default 50"`
}

// sessions is the list of sessions, last used first.
type sessions struct {
	Sessions []sessionEntry `json:"sessions"`
}

// sessionEntry is a session in a list.
type sessionEntry struct {
	Session string      `json:"session"`
	Title   string      `json:"title" jsonschema:"the first line of the first input"`
	Dir     string      `json:"cwd" jsonschema:"the working directory"`
	State   store.State `json:"state" jsonschema:"idle, running, waiting or closed"`
	Outcome string      `json:"outcome,omitempty" jsonschema:"how the last turn ended"`
	Held    int         `json:"held_calls,omitempty" jsonschema:"calls that wait for a person's verdict"`
	Updated time.Time   `json:"updated"`
	Problem string      `json:"problem,omitempty" jsonschema:"why the session cannot be read completely"`
}

func (f *Frontend) addTools() {
	no, yes := false, true
	changes := &sdk.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes}
	looks := &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no}
	sdk.AddTool(f.server, &sdk.Tool{
		Name:        toolRun,
		Title:       "Run a task",
		Annotations: changes,
		Description: "Give a coding agent a task in a directory, in a new session. Answers when the turn has ended: how it ended, the agent's answer and the session's id.",
	}, f.run)
	sdk.AddTool(f.server, &sdk.Tool{
		Name: toolReply, Title: "Reply", Annotations: changes,
		Description: "Continue a session with another message. Answers like run.",
	}, f.reply)
	sdk.AddTool(f.server, &sdk.Tool{
		Name:        toolInterrupt,
		Title:       "Interrupt",
		Annotations: &sdk.ToolAnnotations{DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no},
		Description: "End the running turn. Answers with the reason when the turn has ended and none of its processes is left; at once if nothing was running.",
	}, f.interrupt)
	sdk.AddTool(f.server, &sdk.Tool{
		Name: toolStatus, Title: "Status", Annotations: looks,
		Description: "Say what a session is doing and how its last turn ended.",
	}, f.status)
	sdk.AddTool(f.server, &sdk.Tool{
		Name: toolSessions, Title: "Sessions", Annotations: looks,
		Description: "List the sessions, most recently used first.",
	}, f.sessions)
}
