package web

import (
	"encoding/json"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/store"
)

// sessionList answers GET /api/sessions.
type sessionList struct {
	Sessions []summary `json:"sessions"`
	New      *defaults `json:"new,omitempty" jsonschema:"what a new session gets"`
	ReadOnly string    `json:"read_only,omitempty" jsonschema:"why the sessions can only be read here, and what changes them"`
}

// defaults are the settings of a new session.
type defaults struct {
	Dir        string `json:"dir" jsonschema:"the working directory"`
	Model      string `json:"model" jsonschema:"as PROVIDER/NAME"`
	Permission string `json:"permission,omitempty" jsonschema:"what runs without asking"`
	Words      string `json:"permission_words,omitempty" jsonschema:"the permission in words"`
}

// summary is a session in the list.
type summary struct {
	ID        string        `json:"id"`
	Title     string        `json:"title" jsonschema:"its name, or the first line that says what to do"`
	Dir       string        `json:"dir" jsonschema:"the working directory"`
	Model     string        `json:"model" jsonschema:"as PROVIDER/NAME"`
	Created   time.Time     `json:"created"`
	Updated   time.Time     `json:"updated"`
	State     store.State   `json:"state"`
	Elsewhere store.State   `json:"elsewhere,omitempty" jsonschema:"its state in another process: running or waiting"`
	Outcome   event.Outcome `json:"outcome,omitempty" jsonschema:"how the last turn ended"`
	Reason    event.Reason  `json:"reason,omitempty" jsonschema:"why, if it was aborted"`
	Refuses   string        `json:"refuses,omitempty" jsonschema:"why this server takes no input for the session"`
	Approvals int           `json:"approvals" jsonschema:"how many calls are waiting for approval"`
	Held      int           `json:"held_calls,omitempty" jsonschema:"how many held calls wait for a verdict"`
	Seq       uint64        `json:"seq" jsonschema:"number of the last event; 0 if the session is not open here"`
	Trivial   bool          `json:"trivial,omitempty" jsonschema:"only failed turns, or only greetings"`
	Children  []childEntry  `json:"children,omitempty" jsonschema:"child agents, and theirs, if it is open"`
	Problem   string        `json:"problem,omitempty" jsonschema:"why the session's log cannot be read completely"`
}

// childEntry is a child agent in the list.
type childEntry struct {
	ID      string        `json:"id" jsonschema:"its session"`
	Parent  string        `json:"parent" jsonschema:"the session that started it"`
	Title   string        `json:"title"`
	State   store.State   `json:"state"`
	Outcome event.Outcome `json:"outcome,omitempty" jsonschema:"how it ended"`
	Reason  event.Reason  `json:"reason,omitempty" jsonschema:"why, if it was aborted"`
}

// newSession asks for a session.
type newSession struct {
	ID string `json:"id,omitempty" jsonschema:"of the session to open or create; default: a new one"`
}

// snapshot is the present state of a session. A subscription from Seq continues it.
type snapshot struct {
	ID     string `json:"id"`
	Dir    string `json:"dir" jsonschema:"the working directory"`
	Model  string `json:"model" jsonschema:"as PROVIDER/NAME"`
	Effort string `json:"effort,omitempty" jsonschema:"how much the model thinks"`
	// Permission is the permission of an open session, and of one that this server can open.
	Permission string         `json:"permission,omitempty" jsonschema:"what runs without asking"`
	Words      string         `json:"permission_words,omitempty" jsonschema:"the permission in words"`
	Seq        uint64         `json:"seq" jsonschema:"number of the last event; the events after it continue this state"`
	State      store.State    `json:"state"`
	Turn       string         `json:"turn,omitempty" jsonschema:"the running turn"`
	Outcome    event.Outcome  `json:"outcome,omitempty" jsonschema:"how the last turn ended"`
	Reason     event.Reason   `json:"reason,omitempty" jsonschema:"why, if it was aborted"`
	Refuses    string         `json:"refuses,omitempty" jsonschema:"why this server takes no input for the session"`
	Host       *otherHost     `json:"host,omitempty" jsonschema:"the process outside of this server that has it open"`
	Waiting    []waitingInput `json:"waiting"`
	Approvals  []approval     `json:"approvals"`
	HeldCalls  []heldCall     `json:"held_calls" jsonschema:"calls that waited when an earlier host ended"`
	Jobs       []job          `json:"jobs"`
	Tail       *tail          `json:"tail,omitempty" jsonschema:"how to read only the last turns, if you asked for that"`
}

// otherHost is the process outside of this server that has a session open.
type otherHost struct {
	PID  int    `json:"pid" jsonschema:"0 if it cannot be seen from here"`
	Kind string `json:"kind,omitempty" jsonschema:"its frontend, such as run or detached"`
	// Takes is the server's --take.
	Takes bool `json:"takes,omitempty" jsonschema:"opening the session here ends the turn that runs there"`
}

// waitingInput is an input that no turn has taken yet.
type waitingInput struct {
	Input string     `json:"input"`
	Text  string     `json:"text"`
	Mode  event.Mode `json:"mode"`
	Held  bool       `json:"held" jsonschema:"it does not start a turn of its own; it runs with the next input"`
}

// approval is a call that waits for a person's answer.
type approval struct {
	Approval string          `json:"approval"`
	Item     string          `json:"item" jsonschema:"the call"`
	Tool     string          `json:"tool"`
	Title    string          `json:"title"`
	Why      string          `json:"why" jsonschema:"why settle asks"`
	Detail   json.RawMessage `json:"detail,omitempty" jsonschema:"what the call would do"`
	Text     string          `json:"text" jsonschema:"the complete call, for a person to read before they answer"`
	Covers   string          `json:"covers" jsonschema:"what approved_session covers"`
	Once     bool            `json:"once,omitempty" jsonschema:"approved_session covers no other call: do not offer it"`
	Form     *event.Form     `json:"form,omitempty" jsonschema:"the questions; the answer needs their values as content"`
}

// heldCall is a call that waited for a person when an earlier host of the session ended.
type heldCall struct {
	Approval string `json:"approval" jsonschema:"a hash of the call, to answer with"`
	Turn     string `json:"turn"`
	Item     string `json:"item" jsonschema:"the call, which has ended with its turn"`
	Tool     string `json:"tool"`
	Title    string `json:"title"`
	Why      string `json:"why" jsonschema:"why settle asks"`
	Text     string `json:"text" jsonschema:"the complete call, for a person to read before they answer"`
	// Detail is raw JSON of the tool.
	Detail json.RawMessage `json:"detail,omitempty" jsonschema:"what the call would do"`
	Dir    string          `json:"dir" jsonschema:"the working directory of the call"`
	At     time.Time       `json:"asked" jsonschema:"when the call began to wait"`
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
	Mode   event.Mode `json:"mode,omitempty" jsonschema:"what happens if a turn is running: wait for its end, join it at its next model request, or replace it"`
	Input  string     `json:"input,omitempty" jsonschema:"the client's own id; an input sent twice with one id runs once"`

	Documents []document `json:"documents,omitempty" jsonschema:"PDFs; models that do not take them receive their text"`
}

// image is a picture within an input.
type image struct {
	MediaType mediaType `json:"media_type"`
	Data      []byte    `json:"data" jsonschema:"the file, in base64"`
	Name      string    `json:"name,omitempty"`
}

// document is a PDF within an input.
type document struct {
	Data []byte `json:"data" jsonschema:"the file, in base64"`
	Name string `json:"name,omitempty"`
}

// mediaType is the media type of an image.
type mediaType string

// receipt answers an input that is durable.
type receipt struct {
	Input     string `json:"input"`
	Seq       uint64 `json:"seq" jsonschema:"number of the event that accepted it; 0 if it was already accepted"`
	Duplicate bool   `json:"again" jsonschema:"an input with this id was already accepted, and nothing was added"`
}

// interruption asks for the end of a turn.
type interruption struct {
	Input string `json:"input,omitempty" jsonschema:"the input whose turn to end; if it has not arrived yet, settle waits for it"`
	Hurry bool   `json:"hurry,omitempty" jsonschema:"give running calls no time to stop"`
}

// outcome describes the end of a turn; it is empty if no turn was running.
type outcome struct {
	Turn    string        `json:"turn,omitempty"`
	Outcome event.Outcome `json:"outcome,omitempty"`
	Reason  event.Reason  `json:"reason,omitempty"`
	Message string        `json:"message,omitempty" jsonschema:"how it ended, in words"`
	By      string        `json:"by,omitempty" jsonschema:"who asked for it"`
}

// verdict is a person's answer about a call.
type verdict struct {
	Verdict event.Verdict `json:"verdict"`
	Message string        `json:"message,omitempty" jsonschema:"message to the model"`
	Explain bool          `json:"explain,omitempty" jsonschema:"with denied: the model explains the effects first"`
	// Arguments change the call.
	Arguments string `json:"arguments,omitempty" jsonschema:"with approved: a JSON object to run the call with"`
	// Permission is the permission mode in which the work on a plan begins.
	Permission string `json:"permission,omitempty" jsonschema:"with approved, of a plan: the permission of the work"`
	// Content are the values of a form.
	Content json.RawMessage `json:"content,omitempty" jsonschema:"values of a form, or answers to questions"`
}
