package agent

import (
	"path/filepath"
	"strings"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
)

// Mode is a policy by a name that a protocol has for it, such as "plan".
type Mode struct {
	Name       string
	Permission settle.Permission
	// Rules come before the user's own: the last one that matches decides.
	Rules []config.Rule
}

// Allow is a rule that a client's own words come to; by says which they were.
func Allow(tool, pattern, by string) config.Rule {
	return config.Rule{Tool: tool, Pattern: pattern, Decision: string(settle.Allow), Origin: config.Origin{Kind: config.Flag, Where: by}}
}

// Below is the pattern of all that is below a directory, whose name is taken to
// the letter.
func Below(dir string) string {
	literal := strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]", "{", "[{]", "}", "[}]")
	return literal.Replace(strings.TrimSuffix(filepath.ToSlash(dir), "/")) + "/**"
}

// Policy is a mode that a client may change while its sessions run; calls that
// are judged after that, are judged by the new one.
type Policy struct {
	mu   sync.Mutex
	mode Mode
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

// changing judges each call by the mode that is in force then. What was
// approved for the session stays so in every mode but one that denies.
type changing struct {
	policy *Policy
	build  func(Mode) (settle.Judge, error)

	mu         sync.Mutex
	judges     map[string]settle.Judge // by the mode's name
	remembered []settle.Approval
}

// Judge implements [settle.Judge].
func (c *changing) Judge(a settle.Approval) settle.Judgement {
	c.mu.Lock()
	defer c.mu.Unlock()
	j, err := c.judge(c.policy.Mode())
	if err != nil {
		return settle.Judgement{Decision: "deny", Rule: "rules", Why: err.Error()}
	}
	return j.Judge(a)
}

// Remember implements [settle.Judge].
func (c *changing) Remember(a settle.Approval) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remembered = append(c.remembered, a)
	for _, j := range c.judges {
		j.Remember(a)
	}
}

// judge returns the judge of a mode. The caller holds mu.
func (c *changing) judge(m Mode) (settle.Judge, error) {
	if j := c.judges[m.Name]; j != nil {
		return j, nil
	}
	j, err := c.build(m)
	if err != nil {
		return nil, err
	}
	for _, a := range c.remembered {
		j.Remember(a)
	}
	c.judges[m.Name] = j
	return j, nil
}
