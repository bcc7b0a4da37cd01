package attach

import (
	"encoding/json"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/tool/mcp"
)

// request is the first line of an attached client: it follows the events after a number, or
// calls methods.
type request struct {
	Join   string  `json:"join"`
	Follow *uint64 `json:"follow,omitempty"`
}

// answer is the first line of the host; Host is missing if the host does not have the session.
type answer struct {
	Host     *Host    `json:"host,omitempty"`
	Settings Settings `json:"settings"`
}

// Host is the process that hosts a session.
type Host struct {
	PID      int    `json:"pid"`
	Frontend string `json:"face"`
	Version  string `json:"version,omitempty"`
}

// Settings are the settings of a session's next turn.
type Settings struct {
	Model  string `json:"model"`
	Window int    `json:"window,omitempty"`
	Effort string `json:"effort,omitempty"`
	Mode   string `json:"mode,omitempty"`
	// Work is the mode in which the work on an accepted plan begins, if the person chooses none.
	Work string `json:"work,omitempty"`
}

// change is a line between the events: the settings have changed.
type change struct {
	Settings *Settings `json:"settings"`
}

// changePrefix distinguishes a change from an event, which begins with its version.
const changePrefix = `{"settings":`

// The methods. Their bodies are the bodies of the HTTP API of settle serve.
const (
	methodSubmit    = "submit"
	methodInterrupt = "interrupt"
	methodAnswer    = "answer"
	methodDrop      = "drop"
	methodKill      = "kill"
	methodChoose    = "choose"  // answered with the new Settings
	methodTighten   = "tighten" // answered with the new Settings
	methodOffered   = "models"
	methodExpand    = "expand" // a submission whose text calls a command of the host, such as an MCP prompt
	methodCompact   = "compact"
	methodPrompts   = "prompts"
	methodRules     = "rules"
	methodForget    = "forget"

	// Calls of the terminal that started the host; the host refuses them from other clients.
	methodMode   = "mode" // answered with the new Settings
	methodDetach = "detach"
	methodClose  = "close"
)

type submission struct {
	Text   string        `json:"text,omitempty"`
	Images []event.Image `json:"images,omitempty"`
	// Documents are read by the host.
	Documents []event.Document `json:"documents,omitempty"`
	Mode      event.Mode       `json:"mode,omitempty"`
	Schema    json.RawMessage  `json:"schema,omitempty"`
	Command   bool             `json:"command,omitempty"`
	Input     string           `json:"input,omitempty"`
	By        string           `json:"by,omitempty"`
}

type receipt struct {
	Input string `json:"input"`
	Seq   uint64 `json:"seq"`
}

type interruption struct {
	Input string `json:"input,omitempty"`
	Hurry bool   `json:"hurry,omitempty"`
	By    string `json:"by,omitempty"`
}

// outcome is the ending of a turn; it is empty if no turn ran.
type outcome struct {
	Turn  string       `json:"turn,omitempty"`
	Cause *event.Cause `json:"cause,omitempty"`
}

type verdict struct {
	Approval string        `json:"approval"`
	Verdict  event.Verdict `json:"verdict"`
	Message  string        `json:"message,omitempty"`
	Explain  bool          `json:"explain,omitempty"`
	By       string        `json:"by,omitempty"`

	Content   json.RawMessage `json:"content,omitempty"`
	Arguments string          `json:"arguments,omitempty"`

	Permission string `json:"permission,omitempty"`
}

type dropping struct {
	Input string `json:"input"`
	By    string `json:"by,omitempty"`
}

type killing struct {
	Job string `json:"job"`
}

// choosing are settings by name, such as model and effort.
type choosing struct {
	Settings map[string]string `json:"settings"`
}

// tightening is a permission mode; at least as strict as the current one, except from the host's
// owner.
type tightening struct {
	Mode string `json:"mode"`
}

// compacting is a request to compact the history; its answer is a [settle.Compacted].
type compacting struct {
	By string `json:"by,omitempty"`
}

// prompts are the prompts of the host's MCP servers, and notes on names that cannot be used.
type prompts struct {
	List  []mcp.Command `json:"list,omitempty"`
	Notes []string      `json:"notes,omitempty"`
}

// rules are the rules in force and the remembered approvals.
type rules struct {
	List []assemble.Rule `json:"list,omitempty"`
}

// forgetting is the key of a remembered approval.
type forgetting struct {
	Key string `json:"key"`
}

// closing is the end of the session and its host.
type closing struct {
	Reason event.Reason `json:"reason"`
	By     string       `json:"by"`
}

// done reports whether a call had an effect.
type done struct {
	Done bool `json:"done"`
}

const (
	// codeAnswered is the code of a late answer; its data is a verdict.
	codeAnswered = -32010
	// codeEnded is the code of a call whose turn or input ended early; its data is a cause.
	codeEnded = -32011
)

const (
	// maxMessage bounds a call, such as an input with images, and maxLine an event, in bytes.
	maxMessage = 64 << 20
	maxLine    = 128 << 20
	// maxInFlight bounds the concurrent calls of a client.
	maxInFlight = 32
	// maxGreeting bounds the host's first line.
	maxGreeting = 4 << 10
)
