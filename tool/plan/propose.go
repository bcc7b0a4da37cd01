package plan

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/settle-agent/settle/tool"
)

// ProposeName is the name of the tool that presents a plan in plan mode. A call waits for the
// person's approval, which is the answer to the plan: the tool runs only if they accept it.
const ProposeName = "propose_plan"

// Proposal has the arguments of the tool.
type Proposal struct {
	Plan string `json:"plan"`
}

// Title is the first line of the plan that has words.
func (p Proposal) Title() string {
	for line := range strings.SplitSeq(p.Plan, "\n") {
		if line = strings.TrimSpace(strings.TrimLeft(line, "#*- ")); line != "" {
			return "plan: " + line
		}
	}
	return "plan"
}

// ProposalOf returns the plan in the arguments of a call; empty for none.
func ProposalOf(arguments string) string {
	var p Proposal
	_ = json.Unmarshal([]byte(arguments), &p) // the tool refuses others
	return p.Plan
}

// Mode is the plan mode of a session.
type Mode interface {
	// Offered reports whether models are offered the tool.
	Offered() bool
	// Accept begins the work in the permission mode, or in the session's own if it is empty,
	// and returns the words of the mode that is in force.
	Accept(permission string) (words string, err error)
}

// Propose returns the tool of a session. Models are offered it only while the mode says so, so
// that requests outside of plan mode do not grow.
func Propose(m Mode) tool.Tool { return proposer{proposeTool(), m} }

type proposer struct {
	tool.Tool
	mode Mode
}

var proposeTool = sync.OnceValue(func() tool.Tool {
	return tool.Must(
		tool.New(
			ProposeName,
			"Presents your plan (Markdown) in plan mode. The user accepts it, or says what to change.",
			func(context.Context, Proposal) (string, error) { return "", nil },
			tool.WithSchema(`{
	"type": "object",
	"properties": {"plan": {"type": "string"}},
	"required": ["plan"],
	"additionalProperties": false
}`), tool.ReadOnly(),
		),
	)
})

// Offered implements [tool.Occasional].
func (p proposer) Offered() bool { return p.mode.Offered() }

// Title implements [tool.Titler].
func (proposer) Title(arguments json.RawMessage) string {
	return Proposal{ProposalOf(string(arguments))}.Title()
}

// Run begins the work: the person has accepted the plan.
func (p proposer) Run(_ context.Context, call tool.Call) (tool.Result, error) {
	if strings.TrimSpace(ProposalOf(string(call.Args))) == "" {
		return tool.Result{}, errors.New("the plan has no text")
	}
	words, err := p.mode.Accept(call.Permission)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Result{
		Output: "The user accepted the plan. Plan mode is off; the permission is now: " + words + ". Carry it out.",
	}, nil
}

// The endings of a plan, in the words for the model, for plans that were not accepted.
const (
	rejectedWords = "The user rejected the plan. Do not present the same plan again: ask what they want, or end " +
		"your turn."
	changedWords = "The user wants a different plan; plan mode is still on. They said: "
)

// Refused returns the model's text for a plan that the person did not accept: message has the
// requested changes, and is empty if the person rejected the plan.
func Refused(message string) string {
	if message == "" {
		return rejectedWords
	}
	return changedWords + message
}
