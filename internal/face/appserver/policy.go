package appserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/codex"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// The policies of approval and the modes of the sandbox, as the protocol names
// them.
const (
	never     = string(codex.Never)
	onRequest = string(codex.OnRequest)
	untrusted = string(codex.Untrusted)

	readOnly   = string(codex.ReadOnly)
	workspace  = string(codex.WorkspaceWrite)
	fullAccess = string(codex.FullAccess)
)

// byClient is who asked for a rule.
const byClient = "the client's sandbox"

// rights are what a thread's calls may do; see [codex.Mode].
type rights struct {
	approval json.RawMessage // as it was given
	sandbox  sandboxPolicy
}

type sandboxPolicy struct {
	Type                string   `json:"type"`
	WritableRoots       []string `json:"writableRoots,omitempty"`
	NetworkAccess       any      `json:"networkAccess,omitempty"`
	ExcludeTmpdirEnvVar bool     `json:"excludeTmpdirEnvVar,omitempty"`
	ExcludeSlashTmp     bool     `json:"excludeSlashTmp,omitempty"`
}

// defaults are the rights where a client asks for none: those of the permission
// that is configured.
func defaults(p settle.Permission) rights {
	switch p {
	case settle.Allow:
		return rights{quote(never), sandboxPolicy{Type: "dangerFullAccess"}}
	case settle.Deny:
		return rights{quote(never), sandboxPolicy{Type: "readOnly"}}
	default:
		return rights{quote(untrusted), sandboxPolicy{Type: "readOnly"}}
	}
}

func quote(s string) json.RawMessage { return json.RawMessage(`"` + s + `"`) }

// asks returns how the policy of approval asks.
func (r rights) asks() string {
	var name string
	if json.Unmarshal(r.approval, &name) != nil {
		return onRequest // a granular one
	}
	return name
}

// mode returns the sandbox's mode.
func (r rights) mode() string { return cmp.Or(modeOf(r.sandbox.Type), readOnly) }

// modeOf is the mode that a type of sandbox comes to; "" if there is none of it.
func modeOf(kind string) string {
	return map[string]string{
		"readOnly": readOnly, "workspaceWrite": workspace, "dangerFullAccess": fullAccess, "externalSandbox": fullAccess,
	}[kind]
}

// profiles are the modes of profiles.
func profiles() map[string]string {
	return map[string]string{":read-only": readOnly, ":workspace": workspace, ":danger-full-access": fullAccess}
}

// rightsParams are how a client asks for rights.
type rightsParams struct {
	ApprovalPolicy json.RawMessage `json:"approvalPolicy"`
	Sandbox        string          `json:"sandbox"`       // a mode, of a thread
	SandboxPolicy  *sandboxPolicy  `json:"sandboxPolicy"` // of a turn
	Permissions    string          `json:"permissions"`   // a profile
}

// set changes the rights as a client asks; what it leaves out stays.
func (r *rights) set(p rightsParams) error {
	if isGiven(p.ApprovalPolicy) {
		if err := r.setApproval(p.ApprovalPolicy); err != nil {
			return err
		}
	}
	mode := p.Sandbox
	if p.Permissions != "" {
		if mode = profiles()[p.Permissions]; mode == "" {
			return invalid("there is no permission profile %q", p.Permissions)
		}
	}
	if mode != "" {
		kind := map[string]string{readOnly: "readOnly", workspace: "workspaceWrite", fullAccess: "dangerFullAccess"}[mode]
		if kind == "" {
			return invalid("there is no sandbox mode %q; there are read-only, workspace-write, danger-full-access", mode)
		}
		r.sandbox = sandboxPolicy{Type: kind}
	}
	if p.SandboxPolicy != nil {
		if modeOf(p.SandboxPolicy.Type) == "" {
			return invalid("there is no sandbox policy of type %q", p.SandboxPolicy.Type)
		}
		r.sandbox = *p.SandboxPolicy
	}
	return nil
}

func (r *rights) setApproval(raw json.RawMessage) error {
	var name string
	switch err := json.Unmarshal(raw, &name); {
	case err != nil && !bytes.Contains(raw, []byte(`"granular"`)):
		return invalid("the approval policy %s is not known", raw)
	case name == "on-failure": // of older clients
		raw = quote(onRequest)
	case err == nil && !slices.Contains([]string{never, onRequest, untrusted}, name):
		return invalid("there is no approval policy %q; there are never, on-request, untrusted", name)
	}
	r.approval = raw
	return nil
}

// within returns the rights as far as the user's configuration leaves them to
// the client, so that it is told what holds.
func (r rights) within(user settle.Permission) rights {
	switch user {
	case settle.Ask:
		r.sandbox = sandboxPolicy{Type: "readOnly"}
	case settle.Deny:
		return defaults(settle.Deny)
	}
	return r
}

// policy returns the mode by which calls are judged.
func (r rights) policy(tmpdir string) assemble.Mode {
	name, err := json.Marshal(r.sandbox)
	if err != nil {
		name = []byte(r.mode()) // what came from JSON goes back into it
	}
	m := codex.Mode(codex.Sandbox(r.mode()), codex.Approval(r.asks()), r.roots(tmpdir), byClient)
	if m.Name = r.asks() + " " + string(name); r.asks() == never {
		m.Unasked = "approval policy never"
	}
	return m
}

// roots are the directories beside the working directory where the sandbox
// would let files be changed.
func (r rights) roots(tmpdir string) []string {
	roots := slices.Clone(r.sandbox.WritableRoots)
	if !r.sandbox.ExcludeSlashTmp {
		roots = append(roots, "/tmp")
	}
	if !r.sandbox.ExcludeTmpdirEnvVar && filepath.IsAbs(tmpdir) {
		roots = append(roots, tmpdir)
	}
	return roots
}

// object returns the sandbox's policy with all that its type has.
func (p sandboxPolicy) object() object {
	out := object{"type": p.Type}
	network := map[string]any{"readOnly": true, "workspaceWrite": true, "externalSandbox": "enabled"}[p.Type] // nothing holds it back
	if p.NetworkAccess != nil && network != nil {
		network = p.NetworkAccess
	}
	if network != nil {
		out["networkAccess"] = network
	}
	if p.Type == "workspaceWrite" {
		out["writableRoots"] = append([]string{}, p.WritableRoots...)
		out["excludeTmpdirEnvVar"], out["excludeSlashTmp"] = p.ExcludeTmpdirEnvVar, p.ExcludeSlashTmp
	}
	return out
}

// isGiven reports whether a parameter that may be null was given.
func isGiven(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// invalid is the answer to a request that cannot be served as it is. Codex has
// this code for all of those.
func invalid(format string, a ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf(format, a...)}
}
