package assemble

import (
	"strings"
	"sync"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/tool/plan"
)

// planning is the plan mode of a session. It implements [plan.Mode].
type planning struct {
	policy  *Policy
	ceiling event.Permission
	// person reports whether a person can accept a plan. Otherwise the plan is the answer.
	person bool

	mu      sync.Mutex // guards the fields below
	offered bool       // a request was made in plan mode
	read    bool       // the log of the session was read
	last    string     // the reminder that the model received last; empty for none
	// compactions is the number of compactions of the history before the last reminder. A
	// compaction can remove the reminder from the request.
	compactions int
}

// planning returns the plan mode of each session; nil if the permission mode never changes.
func (o *Options) planning() *planning {
	if o.Policy == nil {
		return nil
	}
	person := (o.Attended || o.Approver != nil) && (o.Offers == nil || o.Offers(plan.ProposeName))
	return &planning{policy: o.Policy, ceiling: o.Ceiling, person: person}
}

// Offered implements [plan.Mode]. The tool stays for the rest of the session when plan mode
// ends, so that the prefix of the requests changes once (C21).
func (p *planning) Offered() bool {
	on := p.policy.Mode().Plan
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offered = p.person && (p.offered || on)
	return p.offered
}

// Accept implements [plan.Mode].
func (p *planning) Accept(permission string) (string, error) {
	m, err := p.policy.Begin(permission, p.ceiling)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = ""                            // the result of the call reports the mode
	name, _, _ := strings.Cut(m.Name, " ") // a client's mode can have a number
	if _, unknown := ModeNamed(name); unknown != nil {
		name = string(m.Permission) // the model does not know the client's modes
	}
	return event.ModeWords(name), err
}

// The reminders of plan mode.
const (
	planOn = "[Plan mode is on. Change nothing: only calls that read are allowed, until the user accepts a plan. " +
		"Read what you need, ask the user what only they can decide, then present a complete plan with the " +
		"tool for it (propose_plan, ExitPlanMode). Do not work on it before it is accepted.]"
	planAlone = "[Plan mode is on, and no person can be asked. Change nothing: only calls that read are allowed. " +
		"Read what you need. Your final answer is the plan, complete, for somebody who has not read this session.]"
	planOff = "[Plan mode is off.]"
)

// reminder returns the function of the session's reminders. If the permission mode never changes,
// the log can still end in the plan mode of an earlier host.
func (p *planning) reminder() func(event.State) string {
	if p == nil {
		p = &planning{policy: NewPolicy(Mode{})}
	}
	return p.remind
}

// remind returns the reminder that is due. The log has the reminder that the model received last.
func (p *planning) remind(s event.State) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.read {
		p.read = true
		p.last, p.compactions = lastReminder(s)
	}
	due, compactions := "", compactionsBefore(s, len(s.Turns), 0)
	switch on := p.policy.Mode().Plan; {
	case on && p.person:
		due = planOn
	case on:
		due = planAlone
	case p.last != "" && p.last != planOff:
		due = planOff
	}
	if due == "" || due == p.last && compactions == p.compactions {
		return ""
	}
	p.last, p.compactions = due, compactions
	return due
}

// PlanModeIn reports whether the log of the session ended in plan mode, as its model knows it.
func PlanModeIn(dataDir, session string) bool {
	if dataDir == "" || session == "" {
		return false
	}
	state, _ := journal.Load(dataDir, session) // a log that cannot be read has no plan mode; Open reports the error
	last, _ := lastReminder(state)
	return last == planOn || last == planAlone
}

// lastReminder returns the reminder of plan mode that the model received last, and the number of
// compactions that were certainly before it. An accepted plan ends plan mode as a reminder does.
func lastReminder(s event.State) (last string, compactions int) {
	for n := len(s.Turns) - 1; n >= 0; n-- {
		items := s.Turns[n].Items
		for k := len(items) - 1; k >= 0; k-- {
			switch i := items[k]; {
			case i.Type() == event.Note:
				switch text := i.Content().Text; text {
				case planOn, planAlone, planOff:
					return text, compactionsBefore(s, n, i.Attempts)
				}
			case i.Status == event.ItemCompleted && i.Content().Name == plan.ProposeName:
				return "", 0
			}
		}
	}
	return "", 0
}

// compactionsBefore returns the number of compactions in the first turns, and in the turn after
// them before the attempt with the number.
func compactionsBefore(s event.State, turns, attempt int) (n int) {
	for at, t := range s.Turns[:min(turns+1, len(s.Turns))] {
		for _, c := range t.Changes {
			if c.Change == event.ChangeCompacted && (at < turns || c.Attempts < attempt) {
				n++
			}
		}
	}
	return n
}
