package attach

import (
	"encoding/json"

	"github.com/settle-agent/settle/event"
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
	PID     int    `json:"pid"`
	Face    string `json:"face"`
	Version string `json:"version,omitempty"`
}

// Settings are the settings of a session's next turn.
type Settings struct {
	Model  string `json:"model"`
	Window int    `json:"window,omitempty"`
	Effort string `json:"effort,omitempty"`
	Mode   string `json:"mode,omitempty"`
}

// change is a line between the events: the settings have changed.
type change struct {
	Settings *Settings `json:"settings"`
}

// changePrefix distinguishes a change from an event, which begins with its version.
const changePrefix = `{"settings":`

// The methods. Their bodies are those of the HTTP API of settle serve.
const (
	methodSubmit    = "submit"
	methodInterrupt = "interrupt"
	methodAnswer    = "answer"
	methodDrop      = "drop"
	methodCancel    = "cancel"
	methodKill      = "kill"
	methodChoose    = "choose"  // answered with the new Settings
	methodTighten   = "tighten" // answered with the new Settings
	methodOffered   = "models"
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

type cancelling struct {
	Item string `json:"item"`
	By   string `json:"by,omitempty"`
}

type killing struct {
	Job string `json:"job"`
}

// choosing are settings by name, such as model and effort.
type choosing struct {
	Settings map[string]string `json:"settings"`
}

// tightening is a mode at least as strict as the current one.
type tightening struct {
	Mode string `json:"mode"`
}

// done reports whether a call had an effect.
type done struct {
	Done bool `json:"done"`
}

// codeAnswered is the code of a late answer; its data is a verdict.
const codeAnswered = -32010

const (
	// maxMessage bounds a call, such as an input with images, and maxLine an event, in bytes.
	maxMessage = 64 << 20
	maxLine    = 128 << 20
	// maxInFlight bounds the concurrent calls of a client.
	maxInFlight = 32
	// maxGreeting bounds the host's first line.
	maxGreeting = 4 << 10
)
