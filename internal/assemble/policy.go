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

// Mode is a named mode of a protocol, such as "plan".
type Mode = policy.Mode

// Modes are the modes that a person can choose.
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

// ModeOf returns the initial mode of a session with the permission.
func ModeOf(p event.Permission) Mode {
	for _, m := range Modes() {
		if m.Permission == p {
			return m
		}
	}
	return Modes()[0]
}

// ModeNamed returns the mode of Modes with the name.
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

// Allow returns an allow rule that a client's own setting means; by is the setting.
func Allow(tool, pattern, by string) config.Rule {
	return config.Rule{
		Tool: tool, Pattern: pattern, Decision: event.Allow,
		Origin: config.Origin{Kind: config.Flag, Where: by},
	}
}

// Below returns the pattern of all paths below a directory with exactly this name.
func Below(dir string) string {
	return config.Literal(strings.TrimSuffix(filepath.ToSlash(dir), "/")) + "/**"
}

// Policy is a mode that a client can change while its sessions run; it applies to calls
// that are judged later.
type Policy struct {
	mu    sync.Mutex // guards the fields below
	mode  Mode
	judge *policy.Policy // judge of the session; nil before it is opened
}

// NewPolicy returns a policy with the initial mode.
func NewPolicy(m Mode) *Policy { return &Policy{mode: m} }

// Mode returns the mode in force.
func (p *Policy) Mode() Mode {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode
}

// Set changes the mode in force.
func (p *Policy) Set(m Mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
}

// LooserError: a mode allows more than the mode in force.
type LooserError struct{ Now, Requested string }

func (e *LooserError) Error() string {
	return fmt.Sprintf("%q permits more than %q", e.Requested, e.Now)
}

// Tighten changes the mode in force, if the new mode allows nothing that the current mode
// does not; otherwise the error is a [*LooserError].
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

// bind records the judge of the newest session.
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

// Rule is a rule in force or a remembered approval, for people.
type Rule = policy.Line

// Rules returns the rules in force in the session, and its remembered approvals.
func (p *Policy) Rules() []Rule {
	if judge := p.bound(); judge != nil {
		return judge.Lines()
	}
	return nil
}

// Forget removes a remembered approval by its Key.
func (p *Policy) Forget(key string) {
	if judge := p.bound(); judge != nil {
		judge.Forget(key)
	}
}
