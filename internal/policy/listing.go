package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
)

// Line is a rule in force, or an approval for the session, for people.
type Line struct {
	Decision event.Permission
	// Text is the rule, or the call in one line.
	Text string
	// Where is the source of the rule: a file and its line, a flag.
	Where string
	// Key is the key for Forget; empty for a rule, which stays.
	Key string
}

// Lines returns the rules in force, the mode's rules first, and then the approvals for the
// session.
func (p *Policy) Lines() (out []Line) {
	l, _ := p.inForce()
	for _, r := range l.rules {
		out = append(out, Line{
			Decision: r.Decision, Text: strings.TrimPrefix(r.String(), "rule "),
			Where: cmp.Or(r.Origin.Where, "mode "+l.Name),
		})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var approved []Line
	for key, title := range p.approved {
		approved = append(approved, Line{
			Decision: event.Allow, Text: title, Where: byApproval,
			Key: key,
		})
	}
	slices.SortFunc(approved, func(a,
		b Line,
	) int {
		return cmp.Or(strings.Compare(a.Text, b.Text), strings.Compare(a.Key, b.Key))
	})
	return append(out, approved...)
}

// Forget removes an approval for the session: the policy then judges the call again.
func (p *Policy) Forget(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.approved, key)
}
