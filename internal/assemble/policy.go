package assemble

import (
	"path/filepath"
	"strings"
	"sync"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
)

// Mode is a policy by a name that a protocol has for it, such as "plan".
type Mode = policy.Mode

// Allow is a rule that a client's own words come to; by says which they were.
func Allow(tool, pattern, by string) config.Rule {
	return config.Rule{Tool: tool, Pattern: pattern, Decision: event.Allow, Origin: config.Origin{Kind: config.Flag, Where: by}}
}

// Below is the pattern of all that is below a directory, whose name is taken to
// the letter.
func Below(dir string) string {
	return policy.Literal(strings.TrimSuffix(filepath.ToSlash(dir), "/")) + "/**"
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
