package exec

import (
	"cmp"
	"context"
	"fmt"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/agent"
	"github.com/settle-agent/settle/internal/config"
)

// Sandbox is what calls may do, in that agent's words. settle confines no
// processes: it judges each call before it runs, by what can be seen of it.
type Sandbox string

// The modes.
const (
	// ReadOnly lets run what only looks.
	ReadOnly Sandbox = "read-only"
	// WorkspaceWrite lets files be changed in the working directory, in the
	// directories that were added and in those for temporary files, and
	// commands run; a redirection to elsewhere is refused.
	WorkspaceWrite Sandbox = "workspace-write"
	// FullAccess lets everything run.
	FullAccess Sandbox = "danger-full-access"
)

// untrusted is the approval policy that asks about all that is not known to be
// harmless. There is nobody to ask: it is refused.
const untrusted = "untrusted"

// flag is what a mode is said with.
const flag = "--sandbox"

// Mode returns the policy that a sandbox mode and an approval policy come to.
// The directories are absolute.
func Mode(s Sandbox, approval string, writable []string) agent.Mode {
	m := agent.Mode{Name: string(s), Permission: settle.Ask, Rules: []config.Rule{agent.Allow("read", "/**", flag)}}
	switch {
	case approval == untrusted:
		m.Name = untrusted
	case s == FullAccess:
		m.Permission, m.Rules = settle.Allow, nil
	case s == WorkspaceWrite:
		m.Rules = append(m.Rules, agent.Allow("shell", "", flag), agent.Allow("edit", "", flag))
		for _, dir := range writable {
			m.Rules = append(m.Rules, agent.Allow("edit", agent.Below(dir), flag))
		}
	}
	return m
}

// Nobody denies what would have to be asked about (C16), and says to the model
// which mode that is due to.
type Nobody struct{ Mode string }

// Approve implements [settle.Approver].
func (n Nobody) Approve(_ context.Context, a settle.Approval) error {
	why := cmp.Or(a.Why, "it would have to be approved")
	return &settle.DeniedError{Policy: n.Mode, Message: fmt.Sprintf(
		"%q was not allowed to run: %s. The session is %q, and there is nobody to ask. Go on without it, or say what you would have done.", a.Tool.Name, why, n.Mode)}
}
