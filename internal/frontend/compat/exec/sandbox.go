package exec

import (
	"cmp"
	"context"
	"fmt"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/frontend/compat/codex"
)

// Mode returns the mode that a sandbox mode and an approval policy come to. There
// is nobody to ask: but for "untrusted", each policy is "never". The
// directories are absolute.
func Mode(s codex.Sandbox, approval string, writable []string) assemble.Mode {
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

// Nobody denies what would have to be asked about (C16), and says to the model
// which mode that is due to.
type Nobody struct{ Mode string }

// Approve implements [settle.Approver].
func (n Nobody) Approve(_ context.Context, a settle.Approval) error {
	why := cmp.Or(a.Why, "it would have to be approved")
	return &settle.DeniedError{Policy: n.Mode, Message: fmt.Sprintf(
		"%q was not allowed to run: %s. The session is %q, and no person can be asked. Continue without it, or state what you would have done.", a.Tool.Name, why, n.Mode)}
}
