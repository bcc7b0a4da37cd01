package assemble

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
)

// Mode is a policy by a name that a protocol has for it, such as "plan".
type Mode = policy.Mode

// Modes are the modes that a person may put a session into.
func Modes() []Mode {
	var edits []config.Rule
	for _, tool := range []string{"write", "edit", "apply_patch"} {
		edits = append(edits, config.Rule{Tool: tool, Decision: event.Allow})
	}
	return []Mode{
		{Name: "ask", Permission: event.Ask},
		{Name: "accept-edits", Permission: event.Ask, Rules: edits},
		{Name: "read-only", Permission: event.Deny},
		{Name: "allow", Permission: event.Allow},
	}
}

// ModeOf is the mode that a session with the permission begins in.
func ModeOf(p event.Permission) Mode {
	for _, m := range Modes() {
		if m.Permission == p {
			return m
		}
	}
	return Modes()[0]
}

// ModeNamed is the mode with the name, which is one of Modes.
func ModeNamed(name string) (Mode, error) {
	var names []string
	for _, m := range Modes() {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Mode{}, fmt.Errorf("there is no mode %q; the modes are %s", name, strings.Join(names, ", "))
}

// Allow is a rule that a client's own words come to; by says which they were.
func Allow(tool, pattern, by string) config.Rule {
	return config.Rule{Tool: tool, Pattern: pattern, Decision: event.Allow, Origin: config.Origin{Kind: config.Flag, Where: by}}
}

// Below is the pattern of all that is below a directory, whose name is taken to
// the letter.
func Below(dir string) string {
	return config.Literal(strings.TrimSuffix(filepath.ToSlash(dir), "/")) + "/**"
}

// Policy is a mode that a client may change while its sessions run; calls that
// are judged after that, are judged by the new one.
type Policy struct {
	mu    sync.Mutex // guards what follows
	mode  Mode
	judge *policy.Policy // the session's; nil before it is opened
}

// NewPolicy returns a policy that begins with the mode.
func NewPolicy(m Mode) *Policy { return &Policy{mode: m} }

// Mode returns the mode in force.
func (p *Policy) Mode() Mode {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode
}

// Set puts another mode into force.
func (p *Policy) Set(m Mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
}

// LooserError says that a mode allows more than the one in force.
type LooserError struct{ Now, Wish string }

func (e *LooserError) Error() string {
	return fmt.Sprintf("%q permits more than %q", e.Wish, e.Now)
}

// Tighten puts another mode into force, if it allows nothing that the one in force
// does not; else the error is a [*LooserError].
func (p *Policy) Tighten(m Mode) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.Permission.Strictness() < p.mode.Permission.Strictness() {
		return &LooserError{p.mode.Name, m.Name}
	}
	for _, r := range m.Rules {
		if r.Decision.Strictness() < p.mode.Permission.Strictness() && !slices.Contains(p.mode.Rules, r) {
			return &LooserError{p.mode.Name, m.Name}
		}
	}
	p.mode = m
	return nil
}

// bind notes who judges by the policy: the session that was made last.
func (p *Policy) bind(judge *policy.Policy) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.judge = judge
}

func (p *Policy) bound() *policy.Policy {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.judge
}

// Rule is a rule in force or an approval that is remembered, for people.
type Rule = policy.Line

// Rules are those in force in the session, and the approvals that it remembers.
func (p *Policy) Rules() []Rule {
	if judge := p.bound(); judge != nil {
		return judge.Lines()
	}
	return nil
}

// Forget takes back an approval that is remembered, by its Key.
func (p *Policy) Forget(key string) {
	if judge := p.bound(); judge != nil {
		judge.Forget(key)
	}
}
