package exec

import (
	"cmp"
	"context"
	"fmt"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/frontend/compat/codex"
)

// Mode returns the mode for a sandbox mode and an approval policy. No person can be
// asked: each policy except "untrusted" means "never".
func Mode(s codex.Sandbox, approval string, writable codex.Folders) assemble.Mode {
	policy := codex.Never
	if approval == string(codex.Untrusted) {
		policy = codex.Untrusted
	}
	m := codex.Mode(s, policy, writable, "--sandbox")
	m.Name = string(s)
	if policy == codex.Untrusted {
		m.Name = string(policy)
	}
	return m
}

// DenyAll denies every call that needs an approval (C16), and names the mode to the model
// as the reason.
type DenyAll struct{ Mode string }

// Approve implements [settle.Approver].
func (n DenyAll) Approve(_ context.Context, a settle.Approval) error {
	why := cmp.Or(a.Why, "it would have to be approved")
	return &settle.DeniedError{Policy: n.Mode, Message: fmt.Sprintf(
		"%q was not allowed to run: %s. The session is %q, and no person can be asked. Continue without it, or state what you would have done.",
		a.Tool.Name,
		why,
		n.Mode,
	)}
}
