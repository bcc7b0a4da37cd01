package executor

import (
	"encoding/json"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
)

// The kinds of messages. The id is of a command or of a request.
const (
	kindNothing = '0' // one that was withdrawn

	// From the brain.
	kindStart  = 's' // startOrder
	kindWrite  = 'w' // writeOrder: a request, answered by kindAnswer
	kindEnd    = 'e' // endOrder
	kindCall   = 'q' // Request: answered by kindAnswer
	kindCancel = 'x' // of a call
	kindFinish = 'b' // end everything and exit; answered by kindBye

	// From the hands.
	kindStarted = 'S' // startedReport
	kindFailed  = 'F' // text: it did not start
	kindOutput  = 'o' // bytes
	kindDropped = 'd' // droppedReport: output for which there was no room
	kindExited  = 'E' // exitedReport
	kindGone    = 'G' // goneReport
	kindAnswer  = 'R' // answer
)

// hello is the first thing that each end says.
type hello struct {
	Version int    `json:"version"`
	Settle  string `json:"settle"`
	// Machine is that of the hands.
	Machine *Machine `json:"machine,omitempty"`
}

// attach says for which session a brain wants hands.
type attachRequest struct {
	// Session is empty for hands that are asked a few things and no more.
	Session string `json:"session,omitempty"`
	// Epoch grows with each brain that opens the session; Brain is unique.
	Epoch uint64 `json:"epoch"`
	Brain string `json:"brain"`
	// Instance is that of the hands which the brain knows; empty at first.
	Instance string `json:"instance,omitempty"`
	// Received is the number of the last message that came.
	Received uint64 `json:"received"`
	LeaseMS  int64  `json:"lease_ms"`
	ReturnMS int64  `json:"return_ms"`
	GraceMS  int64  `json:"grace_ms"`
	// Marker is as in [proc.Spec].
	Marker string `json:"marker,omitempty"`
	// Keep says that the brain takes over what an earlier one had started; else that
	// is ended.
	Keep bool `json:"keep,omitempty"`
}

// attached answers it.
type attachReply struct {
	// Instance is the hands' own. Where it is not the brain's, nobody knows what
	// became of what earlier ones did.
	Instance string `json:"instance"`
	Received uint64 `json:"received"`
	// Ended is what an earlier brain left running.
	Ended []EndedCommand `json:"ended,omitempty"`
	// Kept are the commands of an earlier brain that this one has taken over. Their
	// ids are the brain's now, and the end of their output follows.
	Kept []HandedOverCommand `json:"kept,omitempty"`
}

// Handed is a command that another brain has taken over.
type HandedOverCommand struct {
	ID   uint64 `json:"id"`
	Call string `json:"call"`
	// Command is the script, or the beginning of a long one.
	Command string `json:"command"`
	PID     int    `json:"pid"`
	// Gone says that everything of it has ended, which is reported, too; Expired that
	// it was ended, or is being, because nobody had been heard of in time.
	Gone    bool `json:"gone,omitempty"`
	Expired bool `json:"expired,omitempty"`
}

// Ended is a command of a brain that did not come back.
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
		Script: o.Script, Call: o.Call, Dir: o.Dir, Workdir: o.Workdir, Places: o.Places, Env: o.Env, Input: o.Input, Terminal: o.Terminal,
		Grace: time.Duration(o.GraceMS) * time.Millisecond, Sandbox: o.Sandbox, Secrets: o.Secrets,
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
	Survivors []event.Process `json:"survivors,omitempty"`
	Asked     bool            `json:"asked,omitempty"`
}

type answer struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
	// NoInput says that the error is [proc.ErrNoInput].
	NoInput bool `json:"no_input,omitempty"`
}

// encode encodes one of the structures above, which cannot fail.
func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // an invalid RawMessage: its maker is wrong
	}
	return data
}
