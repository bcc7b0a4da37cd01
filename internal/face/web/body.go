package web

import (
	"encoding/json"
	"time"

	"github.com/settle-agent/settle/event"
)

// state is how a session is, in a word.
type state string

const (
	idle    state = "idle"    // open, and nothing runs
	running state = "running" // a turn runs
	waiting state = "waiting" // a turn runs, and somebody is asked about a call of it
	closed  state = "closed"  // not open in this process
)

// sessionList answers GET /api/sessions.
type sessionList struct {
	Sessions []summary `json:"sessions"`
}

// summary is a session in the list.
type summary struct {
	ID        string        `json:"id"`
	Title     string        `json:"title" jsonschema:"the first line of the first input"`
	Dir       string        `json:"dir" jsonschema:"the working directory"`
	Model     string        `json:"model" jsonschema:"as PROVIDER/NAME"`
	Created   time.Time     `json:"created"`
	Updated   time.Time     `json:"updated"`
	State     state         `json:"state"`
	Outcome   event.Outcome `json:"outcome,omitempty" jsonschema:"how the last turn ended"`
	Reason    event.Reason  `json:"reason,omitempty" jsonschema:"why, if it was aborted"`
	Refuses   string        `json:"refuses,omitempty" jsonschema:"why this server takes no input for the session"`
	Approvals int           `json:"approvals" jsonschema:"how many calls wait for somebody's word"`
	Seq       uint64        `json:"seq" jsonschema:"number of the last event; 0 if the session is not open here"`
	Problem   string        `json:"problem,omitempty" jsonschema:"why the session's log cannot be read, or not wholly"`
}

// newSession asks for a session.
type newSession struct {
	ID string `json:"id,omitempty" jsonschema:"of the session to open or to create; without it a new one is created"`
}

// snapshot is a session as it is now. A subscription from Seq on continues it.
type snapshot struct {
	ID        string         `json:"id"`
	Dir       string         `json:"dir" jsonschema:"the working directory"`
	Model     string         `json:"model" jsonschema:"as PROVIDER/NAME"`
	Seq       uint64         `json:"seq" jsonschema:"number of the last event; events after it continue this"`
	State     state          `json:"state"`
	Turn      string         `json:"turn,omitempty" jsonschema:"the turn that runs"`
	Outcome   event.Outcome  `json:"outcome,omitempty" jsonschema:"how the last turn ended"`
	Reason    event.Reason   `json:"reason,omitempty" jsonschema:"why, if it was aborted"`
	Refuses   string         `json:"refuses,omitempty" jsonschema:"why this server takes no input for the session"`
	Waiting   []waitingInput `json:"waiting"`
	Approvals []approval     `json:"approvals"`
	Jobs      []job          `json:"jobs"`
	Tail      *tail          `json:"tail,omitempty" jsonschema:"how to read the last turns alone, if that was asked for"`
}

// waitingInput is an input that no turn has taken yet.
type waitingInput struct {
	Input string     `json:"input"`
	Text  string     `json:"text"`
	Mode  event.Mode `json:"mode"`
	Held  bool       `json:"held" jsonschema:"it will not run by itself; the next input takes it along"`
}

// approval is a call that waits for somebody's word.
type approval struct {
	Approval string          `json:"approval"`
	Item     string          `json:"item" jsonschema:"the call"`
	Tool     string          `json:"tool"`
	Title    string          `json:"title"`
	Why      string          `json:"why" jsonschema:"what asks"`
	Detail   json.RawMessage `json:"detail,omitempty" jsonschema:"what the call would do"`
	Text     string          `json:"text" jsonschema:"the whole call, for a person to read before answering"`
	Covers   string          `json:"covers" jsonschema:"what approved_session would cover"`
}

// job is a process that outlives its call.
type job struct {
	Job     string `json:"job"`
	PID     int    `json:"pid"`
	Command string `json:"command"`
}

// newInput is an input.
type newInput struct {
	Text   string     `json:"text,omitempty"`
	Images []image    `json:"images,omitempty"`
	Mode   event.Mode `json:"mode,omitempty" jsonschema:"what it does while a turn runs: wait for its end, join it at its next model request, or take its place"`
	Input  string     `json:"input,omitempty" jsonschema:"the client's own id for it: sent again, it is not run again"`
}

// image is a picture within an input.
type image struct {
	MediaType mediaType `json:"media_type"`
	Data      []byte    `json:"data" jsonschema:"the file, in base64"`
	Name      string    `json:"name,omitempty"`
}

// mediaType is that of an image.
type mediaType string

// receipt answers an input that is durable.
type receipt struct {
	Input string `json:"input"`
	Seq   uint64 `json:"seq" jsonschema:"number of the event that accepted it; 0 if it had been accepted before"`
	Again bool   `json:"again" jsonschema:"an input with this id had been accepted before, and nothing was added"`
}

// interruption asks for the end of a turn.
type interruption struct {
	Input string `json:"input,omitempty" jsonschema:"the input whose turn is meant; one that has not arrived yet is waited for"`
	Hurry bool   `json:"hurry,omitempty" jsonschema:"running calls get no time to stop by themselves"`
}

// outcome is how a turn ended; it is empty if nothing was running.
type outcome struct {
	Turn    string        `json:"turn,omitempty"`
	Outcome event.Outcome `json:"outcome,omitempty"`
	Reason  event.Reason  `json:"reason,omitempty"`
	Message string        `json:"message,omitempty" jsonschema:"the ending in words"`
	By      string        `json:"by,omitempty" jsonschema:"who asked for it"`
}

// verdict is somebody's word about a call.
type verdict struct {
	Verdict event.Verdict `json:"verdict"`
	Message string        `json:"message,omitempty" jsonschema:"words for the model"`
}
