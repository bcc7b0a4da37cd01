package appserver

import (
	"bytes"
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
func (r rights) mode() string {
	switch r.sandbox.Type {
	case "dangerFullAccess", "externalSandbox":
		return fullAccess
	case "workspaceWrite":
		return workspace
	default:
		return readOnly
	}
}

// set changes the rights as a client asks; what it leaves out stays.
func (r *rights) set(approval json.RawMessage, mode string, policy *sandboxPolicy, profile string) error {
	if isGiven(approval) {
		var name string
		if json.Unmarshal(approval, &name) == nil {
			switch name {
			case never, onRequest, untrusted:
			case "on-failure": // of older clients
				approval = quote(onRequest)
			default:
				return invalid("there is no approval policy %q; there are never, on-request, untrusted", name)
			}
		} else if !bytes.Contains(approval, []byte(`"granular"`)) {
			return invalid("the approval policy %s is not known", approval)
		}
		r.approval = approval
	}
	if profile != "" {
		mode = map[string]string{":read-only": readOnly, ":workspace": workspace, ":danger-full-access": fullAccess}[profile]
		if mode == "" {
			return invalid("there is no permission profile %q", profile)
		}
	}
	switch mode {
	case "":
	case readOnly:
		r.sandbox = sandboxPolicy{Type: "readOnly"}
	case workspace:
		r.sandbox = sandboxPolicy{Type: "workspaceWrite"}
	case fullAccess:
		r.sandbox = sandboxPolicy{Type: "dangerFullAccess"}
	default:
		return invalid("there is no sandbox mode %q; there are read-only, workspace-write, danger-full-access", mode)
	}
	if policy != nil {
		switch policy.Type {
		case "readOnly", "workspaceWrite", "dangerFullAccess", "externalSandbox":
			r.sandbox = *policy
		default:
			return invalid("there is no sandbox policy of type %q", policy.Type)
		}
	}
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
func (p sandboxPolicy) object() map[string]any {
	out := map[string]any{"type": p.Type}
	network := p.NetworkAccess
	switch p.Type {
	case "workspaceWrite":
		roots := p.WritableRoots
		if roots == nil {
			roots = []string{}
		}
		out["writableRoots"], out["excludeTmpdirEnvVar"], out["excludeSlashTmp"] = roots, p.ExcludeTmpdirEnvVar, p.ExcludeSlashTmp
		fallthrough
	case "readOnly":
		if network == nil {
			network = true // nothing holds it back
		}
		out["networkAccess"] = network
	case "externalSandbox":
		if network == nil {
			network = "enabled"
		}
		out["networkAccess"] = network
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
