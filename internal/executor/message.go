package executor

import (
	"encoding/json"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
)

// The kinds of messages. The id is of a command or of a request.
const (
	kindNothing = '0' // withdrawn

	// From the host.
	kindStart  = 's' // startOrder
	kindWrite  = 'w' // writeOrder: a request, answered by kindAnswer
	kindEnd    = 'e' // endOrder
	kindCall   = 'q' // Request: answered by kindAnswer
	kindCancel = 'x' // of a call
	kindFinish = 'b' // end all commands and exit; answered by kindFinish

	// From the executor.
	kindStarted = 'S' // startedReport
	kindFailed  = 'F' // text: the start failed
	kindOutput  = 'o' // bytes
	kindDropped = 'd' // droppedReport: output without room
	kindExited  = 'E' // exitedReport
	kindGone    = 'G' // goneReport
	kindAnswer  = 'R' // answer
)

// hello is the first message of each end.
type hello struct {
	Version int    `json:"version"`
	Settle  string `json:"settle"`
	// Machine describes the executor's machine.
	Machine *Machine `json:"machine,omitempty"`
}

// attachRequest asks for an executor for a session.
type attachRequest struct {
	// Session is empty for a few single calls.
	Session string `json:"session,omitempty"`
	// Epoch is the session's fencing epoch; HostID is the unique id of the host.
	Epoch  uint64 `json:"epoch"`
	HostID string `json:"brain"`
	// Instance is the executor that the host knows; empty at first.
	Instance string `json:"instance,omitempty"`
	// Received is the number of the last received message.
	Received uint64 `json:"received"`
	LeaseMS  int64  `json:"lease_ms"`
	ReturnMS int64  `json:"return_ms"`
	GraceMS  int64  `json:"grace_ms"`
	// Marker is as in [proc.Spec].
	Marker string `json:"marker,omitempty"`
	// Keep asks to take over the commands of an earlier host; without it they are ended.
	Keep bool `json:"keep,omitempty"`
}

// attachReply answers an attachRequest.
type attachReply struct {
	// Instance identifies the executor. If it differs from the request's, the outcome of earlier
	// calls is unknown.
	Instance string `json:"instance"`
	Received uint64 `json:"received"`
	// Ended are the commands that an earlier host left running.
	Ended []EndedCommand `json:"ended,omitempty"`
	// Kept are the taken-over commands of an earlier host. They keep their ids, and the end of
	// their output follows.
	Kept []HandedOverCommand `json:"kept,omitempty"`
}

// HandedOverCommand is a command that another host has taken over.
type HandedOverCommand struct {
	ID   uint64 `json:"id"`
	Call string `json:"call"`
	// Command is the script, or the start of a long one.
	Command string `json:"command"`
	PID     int    `json:"pid"`
	// Ended reports that all its processes have ended, which a report follows; Expired that it
	// was ended because the lease ended.
	Ended   bool `json:"gone,omitempty"`
	Expired bool `json:"expired,omitempty"`
}

// EndedCommand is a command of a host that did not reconnect.
type EndedCommand struct {
	Command   string          `json:"command"`
	PID       int             `json:"pid"`
	ExitCode  *int            `json:"exit_code,omitempty"`
	Survivors []event.Process `json:"survivors,omitempty"`
	// Tail is the end of its output.
	Tail string `json:"tail,omitempty"`
}

type startOrder struct {
	Script  string `json:"script"`
	Call    string `json:"call,omitempty"`
	Dir     string `json:"dir,omitempty"`
	Workdir string `json:"workdir,omitempty"`
	// Places are as in [Command]; null and an empty list differ.
	Places   []event.ResolvedPath `json:"places"`
	Env      []string             `json:"env,omitempty"`
	Input    proc.Input           `json:"input,omitempty"`
	Terminal *proc.Size           `json:"terminal,omitempty"`
	GraceMS  int64                `json:"grace_ms,omitempty"`
	Sandbox  event.Sandbox        `json:"sandbox,omitempty"`
	Secrets  event.Secrets        `json:"secrets,omitempty"`
}

func (o startOrder) command() Command {
	return Command{
		Script:   o.Script,
		Call:     o.Call,
		Dir:      o.Dir,
		Workdir:  o.Workdir,
		Places:   o.Places,
		Env:      o.Env,
		Input:    o.Input,
		Terminal: o.Terminal,
		Grace:    time.Duration(o.GraceMS) * time.Millisecond,
		Sandbox:  o.Sandbox,
		Secrets:  o.Secrets,
	}
}

type writeOrder struct {
	Process   uint64 `json:"process"`
	Data      []byte `json:"data,omitempty"`
	TimeoutMS int64  `json:"timeout_ms,omitempty"`
	Close     bool   `json:"close,omitempty"`
}

type endOrder struct {
	GraceMS int64 `json:"grace_ms"`
}

type callOrder struct {
	Name string          `json:"name"`
	Call string          `json:"call,omitempty"`
	Dir  string          `json:"dir,omitempty"`
	Args json.RawMessage `json:"args,omitempty"`
}

type startedReport struct {
	PID int `json:"pid"`
}

type droppedReport struct {
	Bytes int64 `json:"bytes"`
}

type exitedReport struct {
	Code   int             `json:"code"`
	Signal int             `json:"signal,omitempty"`
	Lost   bool            `json:"lost,omitempty"`
	Rest   []event.Process `json:"rest,omitempty"`
}

type goneReport struct {
	Survivors    []event.Process `json:"survivors,omitempty"`
	EndRequested bool            `json:"asked,omitempty"`
}

type answer struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
	// NoInput reports that the error is [proc.ErrNoInput].
	NoInput bool `json:"no_input,omitempty"`
}

// encode encodes one of the types above, which cannot fail.
func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // an invalid RawMessage is a defect of the caller
	}
	return data
}
