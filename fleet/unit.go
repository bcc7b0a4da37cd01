package fleet

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
)

// Task is what a unit is asked to do.
type Task struct {
	// Session is the session that the input is for; "" makes a new one. Input is
	// the input's id; "" means "1". Together they are the unit's id, and a task
	// with the id of another is that one.
	Session string `json:"session,omitempty"`
	Input   string `json:"input,omitempty"`
	// Prompt is the input.
	Prompt string `json:"prompt"`
	// Dir is the directory that the agent works in, on every worker the same.
	Dir string `json:"dir,omitempty"`
	// Model is PROVIDER/NAME; "" means the workers' default.
	Model string `json:"model,omitempty"`
	// Hands is a command that leads to settle hands on the machine to work on; ""
	// means the worker's own.
	Hands  string `json:"hands,omitempty"`
	Limits Limits `json:"limits,omitzero"`
	// Labels are for finding units again.
	Labels map[string]string `json:"labels,omitempty"`
}

// Limits bound each turn of a unit; 0 is no limit.
type Limits struct {
	Steps   int     `json:"steps,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	Tokens  int64   `json:"tokens,omitempty"`
}

// Of returns the limits of a session's turns.
func (l Limits) Of() settle.Limits {
	return settle.Limits{Steps: l.Steps, Time: time.Duration(l.Seconds * float64(time.Second)), Tokens: l.Tokens}
}

// Complete returns the task with its ids, or says what is wrong with it.
func (t Task) Complete() (Task, error) {
	if strings.TrimSpace(t.Prompt) == "" {
		return t, errors.New("the task has no prompt")
	}
	if t.Session == "" {
		id, err := uuid.NewV7() // so that they sort by time
		if err != nil {
			return t, fmt.Errorf("cannot make an id: %w", err)
		}
		t.Session = id.String()
	}
	if t.Input == "" {
		t.Input = "1"
	}
	for _, id := range []string{t.Session, t.Input} {
		if len(id) > mostID || strings.ContainsAny(id, "/~ \t\n") {
			return t, fmt.Errorf("the id %q has more than %d bytes, or a slash, a tilde or a space", id, mostID)
		}
	}
	if t.Limits.Steps < 0 || t.Limits.Seconds < 0 || t.Limits.Tokens < 0 {
		return t, errors.New("a limit of the task is below zero")
	}
	return t, nil
}

// mostID bounds the ids of sessions and inputs: to that of an input, the number of
// an attempt may be added.
const mostID = 100

// ID returns the id of the unit.
func (t Task) ID() string { return t.Session + "/" + t.Input }

// State is where a unit is.
type State string

// The states.
const (
	Queued  State = "queued"
	Running State = "running"
	Ended   State = "ended"
)

// Unit is a task and what became of it.
type Unit struct {
	ID    string `json:"unit"`
	Task  Task   `json:"task"`
	State State  `json:"state"`
	// Attempt counts the workers that took it, and Lost those of them that died.
	Attempt int `json:"attempts"`
	Lost    int `json:"lost,omitempty"`
	// Worker is the one that runs it, or did last.
	Worker string `json:"worker,omitempty"`
	// Cancel says who has asked for its end; "" if nobody has.
	Cancel  string     `json:"cancelled_by,omitempty"`
	Result  *Result    `json:"result,omitempty"`
	Created time.Time  `json:"created"`
	Started *time.Time `json:"started,omitempty"`
	Ended   *time.Time `json:"ended,omitempty"`
}

// Result is how a unit ended: how its last turn did.
type Result struct {
	Outcome event.Outcome `json:"outcome"`
	Reason  event.Reason  `json:"reason,omitempty"`
	Message string        `json:"message,omitempty"`
	Answer  string        `json:"answer,omitempty"`
	// Turn is the last turn, Turns how many there were, and Seq the number of the
	// event that ended the last one; empty if there was none.
	Turn    string        `json:"turn,omitempty"`
	Turns   int           `json:"turns"`
	Seq     uint64        `json:"seq,omitempty"`
	Summary event.Summary `json:"summary"` // of all of them
}

// Attempt is a unit that a worker has been given.
type Attempt struct {
	Unit string
	Task Task
	// Number counts the attempts, from 1; Lost those of which the worker died.
	Number, Lost int
	// Epoch is what the worker writes the session's log with.
	Epoch int64
	// Cancel says who has asked for the unit's end; "" if nobody has.
	Cancel string
}
