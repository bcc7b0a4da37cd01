package assemble

import (
	"cmp"
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
		{Name: "review", Permission: event.Review},
		{Name: "read-only", Permission: event.Deny},
		PlanMode(),
		{Name: "allow", Permission: event.Allow},
	}
}

// PlanMode is the mode in which the model only reads until a person accepts its plan. Commands
// run in the read-only sandbox, if there is one.
func PlanMode() Mode {
	return Mode{Name: "plan", Permission: event.Ask, Plan: true, Sandbox: event.ReadOnly}
}

const reviewOfChanges = "review of changes"

// readsOnly reports whether a mode allows reading only, and no person or client can loosen it.
func readsOnly(m Mode) bool { return m.Permission == event.Deny || m.Name == reviewOfChanges }

// ReviewMode is the mode of a review of changes: calls that only read run, commands in the
// read-only sandbox if there is one, and other calls are denied without a question. It is no mode
// that a person chooses.
func ReviewMode() Mode {
	return Mode{
		Name: reviewOfChanges, Permission: event.Ask, Sandbox: event.ReadOnly, Unasked: "a review changes nothing",
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

// Begins returns the mode in which the settings have the terminal and "settle run" begin. otherwise is
// the permission if they have none.
func Begins(s config.Settings, otherwise event.Permission) Mode {
	if m, err := ModeNamed(s.Mode); err == nil {
		return m
	}
	return ModeOf(cmp.Or(s.Permission, otherwise))
}

// ModeNamed returns the mode of Modes with the name or the words for it. "deny", the value of the
// setting, is read-only.
func ModeNamed(name string) (Mode, error) {
	if name == string(event.Deny) {
		return ModeOf(event.Deny), nil
	}
	var names []string
	for _, m := range Modes() {
		if m.Name == name || event.ModeWords(m.Name) == name {
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
	// changed is closed at the next change of the mode; nil if no goroutine waits for it.
	changed chan struct{}
	// work is the mode in which the work on an accepted plan begins, if the person chooses none.
	work Mode
}

// NewPolicy returns a policy with the initial mode.
func NewPolicy(m Mode) *Policy {
	p := &Policy{work: ModeOf(event.Ask)}
	p.set(m)
	return p
}

// NewPlanPolicy returns a policy in plan mode. The work on an accepted plan begins in the mode m.
func NewPlanPolicy(m Mode) *Policy {
	p := NewPolicy(m)
	p.set(PlanMode())
	return p
}

// CopiedPolicy returns the policy of a copy of a session: in the source's mode if that is plan mode
// or stricter than the configured mode, else in the configured mode. The same holds for the mode in
// which the work on an accepted plan begins.
func CopiedPolicy(configured Mode, source *Policy) *Policy {
	p, from := NewPolicy(configured), source.Copy()
	_ = p.Tighten(from.work) // a looser mode is for its session
	if from.mode.Plan {
		p.set(from.mode)
	}
	return p
}

// Copy returns a policy with the same modes, for the same session when it is opened again.
func (p *Policy) Copy() *Policy {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &Policy{mode: p.mode, work: p.work}
}

// set changes the mode. The caller holds mu, or no other goroutine has the policy.
func (p *Policy) set(m Mode) {
	if p.mode = m; !m.Plan {
		p.work = m
	}
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// Changed returns a channel that is closed when the mode is set the next time.
func (p *Policy) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.changed
}

// MayBegin reports whether a client that can only tighten the permission can begin the work on
// a plan in the mode with the name.
func (p *Policy) MayBegin(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, err := ModeNamed(name)
	return name == "" || name == p.work.Name || err == nil && Within(p.work.Permission, m)
}

// Begin leaves plan mode for the mode with the name, or for the mode before, if it is empty. No
// mode that begins is looser than the ceiling. It returns the mode in force.
func (p *Policy) Begin(name string, ceiling event.Permission) (Mode, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name == "" && !p.mode.Plan { // the plan was presented outside of plan mode
		return p.mode, nil
	}
	m := p.work
	if name != "" {
		var err error
		if m, err = ModeNamed(name); err != nil {
			return p.mode, err
		}
	}
	if !Within(ceiling, m) {
		if _, err := ModeNamed(m.Name); err == nil {
			m = ModeOf(ceiling)
		} else { // a client's own mode has rules that deny
			m = Tighten(ceiling, m)
		}
	}
	p.set(m)
	return m, nil
}

// SetWork changes the mode in which the work on an accepted plan begins, if the person chooses none.
func (p *Policy) SetWork(m Mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.work = m
}

// Work returns the mode in which the work on an accepted plan begins, if the person chooses none.
func (p *Policy) Work() Mode {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.work
}

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
	p.set(m)
}

// LooserError: a mode allows more than the mode in force.
type LooserError struct{ Now, Requested string }

func (e *LooserError) Error() string {
	return fmt.Sprintf("%q permits more than %q", e.Requested, e.Now)
}

// Tighten changes the mode in force, if the new mode allows nothing that the current mode
// does not; otherwise the error is a [*LooserError]. Every other mode is looser than plan mode, in
// which rules and approvals that allow have no effect.
func (p *Policy) Tighten(m Mode) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.mode.Plan && m.Plan:
		return nil
	case p.mode.Plan || m.Permission.Strictness() < p.mode.Permission.Strictness():
		return &LooserError{p.mode.Name, m.Name}
	}
	for _, r := range m.Rules {
		if r.Decision.Strictness() < p.mode.Permission.Strictness() && !slices.Contains(p.mode.Rules, r) {
			return &LooserError{p.mode.Name, m.Name}
		}
	}
	p.set(m)
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
