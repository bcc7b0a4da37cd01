package proof

import (
	"cmp"
	"encoding/json"
	"sync"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/tool/plan"
)

// planMode is the plan mode of a process, as package assemble has it. The session begins in
// plan mode. An accepted plan ends it, and a process in which no person can be asked.
type planMode struct {
	mu      sync.Mutex // guards the fields below
	on      bool
	offered bool // a request was made in plan mode
	work    event.Permission
}

const (
	planOn  = "[Plan mode is on.]"
	planOff = "[Plan mode is off.]"
)

// newPlanMode returns the plan mode of a process that opens the session.
func newPlanMode(s event.State, attended bool) *planMode {
	last := lastPlanWord(s)
	return &planMode{on: attended && (last == "" || last == planOn), work: event.Ask}
}

// lastPlanWord returns the last reminder that the model received; an accepted plan counts
// as planOff.
func lastPlanWord(s event.State) (last string) {
	for _, t := range s.Turns {
		for _, i := range t.Items {
			switch c := i.Content(); {
			case i.Type() == event.Note && (c.Text == planOn || c.Text == planOff):
				last = c.Text
			case i.Status == event.ItemCompleted && c.Name == plan.ProposeName:
				last = planOff
			}
		}
	}
	return last
}

// Offered implements [plan.Mode].
func (m *planMode) Offered() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.offered = m.offered || m.on
	return m.offered
}

// Accept implements [plan.Mode].
func (m *planMode) Accept(permission string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.on, m.work = false, cmp.Or(event.Permission(permission), event.Ask)
	return string(m.work), nil
}

// remind returns the reminder that is due.
func (m *planMode) remind(s event.State) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch last := lastPlanWord(s); {
	case m.on && last != planOn:
		return planOn
	case !m.on && last == planOn:
		return planOff
	}
	return ""
}

// judge has a person asked about plans, and in plan mode denies everything else.
func (m *planMode) judge(call approval.Call) approval.Judgement {
	m.mu.Lock()
	defer m.mu.Unlock()
	j := askAlways
	switch {
	case call.Tool.Name == plan.ProposeName:
		j = approval.Judgement{Decision: event.Ask, Rule: plan.ProposeName, Why: "the agent has a plan"}
	case m.on:
		j = approval.Judgement{Decision: event.Deny, Rule: "plan mode", Why: "plan mode changes nothing"}
	default:
		j.Decision = m.work
	}
	if j.Mode = string(m.work); m.on {
		j.Mode = "plan"
	}
	return j
}

// proposal are the arguments of a call that presents a plan.
func proposal(text string) string {
	raw, _ := json.Marshal(plan.Proposal{Plan: text}) // never fails
	return string(raw)
}
