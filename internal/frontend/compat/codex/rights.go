package codex

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
)

// Rights are the permissions of calls, in the words of the app-server's protocol.
type Rights struct {
	// Approval is a policy's name, or an object for one with exceptions.
	Approval json.RawMessage
	Sandbox  SandboxPolicy
}

// SandboxPolicy is a sandbox mode with its parameters.
type SandboxPolicy struct {
	Type                string   `json:"type"`
	WritableRoots       []string `json:"writableRoots,omitempty"`
	NetworkAccess       any      `json:"networkAccess,omitempty"`
	ExcludeTmpdirEnvVar bool     `json:"excludeTmpdirEnvVar,omitempty"`
	ExcludeSlashTmp     bool     `json:"excludeSlashTmp,omitempty"`
}

// RequestedRights are the rights that a client requests.
type RequestedRights struct {
	ApprovalPolicy json.RawMessage `json:"approvalPolicy"`
	Sandbox        Sandbox         `json:"sandbox"`       // of a thread
	SandboxPolicy  *SandboxPolicy  `json:"sandboxPolicy"` // of a turn
	Permissions    string          `json:"permissions"`   // one of Profiles
}

// DefaultRights returns the rights of a client that requests none, by the configured permission.
func DefaultRights(p settle.Permission) Rights {
	switch p {
	case settle.Allow:
		return Rights{Never.JSON(), FullAccess.policy()}
	case settle.Deny:
		return Rights{Never.JSON(), ReadOnly.policy()}
	default:
		return Rights{Untrusted.JSON(), ReadOnly.policy()}
	}
}

// JSON is the policy's name in JSON.
func (a Approval) JSON() json.RawMessage { return json.RawMessage(`"` + a + `"`) }

// check refuses unknown policies. "on-failure" is a policy of older clients, with the same meaning
// as on-request.
func (a Approval) check() error {
	if !slices.Contains([]Approval{Untrusted, "on-failure", OnRequest, Never}, a) {
		return fmt.Errorf("there is no approval policy %q: untrusted, on-failure, on-request and never are known", a)
	}
	return nil
}

func (s Sandbox) check() error {
	if !slices.Contains([]Sandbox{ReadOnly, WorkspaceWrite, FullAccess}, s) {
		return fmt.Errorf("there is no sandbox mode %q: read-only, workspace-write and danger-full-access are known", s)
	}
	return nil
}

// policy is the mode as the protocol has it.
func (s Sandbox) policy() SandboxPolicy {
	return SandboxPolicy{
		Type: map[Sandbox]string{ReadOnly: "readOnly", WorkspaceWrite: "workspaceWrite", FullAccess: "dangerFullAccess"}[s],
	}
}

// mode is the mode that the policy comes to; "" if there is none of its type.
func (p SandboxPolicy) mode() Sandbox {
	return map[string]Sandbox{
		"readOnly": ReadOnly, "workspaceWrite": WorkspaceWrite, "dangerFullAccess": FullAccess, "externalSandbox": FullAccess,
	}[p.Type]
}

// Profiles are the names of profiles of permissions.
func Profiles() []string { return []string{":read-only", ":workspace", ":danger-full-access"} }

// Set changes the rights as a client requests; parts that the request leaves out stay.
func (r *Rights) Set(requested RequestedRights) error {
	if raw := requested.ApprovalPolicy; len(raw) > 0 && string(raw) != "null" {
		if err := r.setApproval(raw); err != nil {
			return err
		}
	}
	if requested.Permissions != "" {
		n := slices.Index(Profiles(), requested.Permissions)
		if n < 0 {
			return fmt.Errorf("there is no permission profile %q", requested.Permissions)
		}
		requested.Sandbox = []Sandbox{ReadOnly, WorkspaceWrite, FullAccess}[n]
	}
	if requested.Sandbox != "" {
		if err := requested.Sandbox.check(); err != nil {
			return err
		}
		r.Sandbox = requested.Sandbox.policy()
	}
	if requested.SandboxPolicy != nil {
		if requested.SandboxPolicy.mode() == "" {
			return fmt.Errorf("there is no sandbox policy of type %q", requested.SandboxPolicy.Type)
		}
		r.Sandbox = *requested.SandboxPolicy
	}
	return nil
}

func (r *Rights) setApproval(raw json.RawMessage) error {
	var name Approval
	if json.Unmarshal(raw, &name) != nil {
		if !bytes.Contains(raw, []byte(`"granular"`)) {
			return fmt.Errorf("the approval policy %s is not known", raw)
		}
		r.Approval = raw
		return nil
	}
	if err := name.check(); err != nil {
		return err
	}
	if name == "on-failure" {
		name = OnRequest
	}
	r.Approval = name.JSON()
	return nil
}

// Within returns the rights as far as the user's configuration allows them, so that the
// client sees the rights in force.
func (r Rights) Within(user settle.Permission) Rights {
	switch user {
	case settle.Ask, settle.Review:
		r.Sandbox = ReadOnly.policy()
	case settle.Deny:
		return DefaultRights(settle.Deny)
	}
	return r
}

// Asks returns the name of the approval policy.
func (r Rights) Asks() Approval {
	var name Approval
	if json.Unmarshal(r.Approval, &name) != nil {
		return OnRequest // with exceptions
	}
	return name
}

// SandboxMode is the sandbox's mode.
func (r Rights) SandboxMode() Sandbox { return cmp.Or(r.Sandbox.mode(), ReadOnly) }

// Mode returns the mode by which calls are judged. The directory for temporary
// files counts if it is absolute.
func (r Rights) Mode(tmpdir string) assemble.Mode {
	folders := Folders{Added: r.Sandbox.WritableRoots}
	if !r.Sandbox.ExcludeSlashTmp {
		folders.Temporary = append(folders.Temporary, "/tmp")
	}
	if !r.Sandbox.ExcludeTmpdirEnvVar && filepath.IsAbs(tmpdir) {
		folders.Temporary = append(folders.Temporary, tmpdir)
	}
	m := Mode(r.SandboxMode(), r.Asks(), folders, "the client's sandbox")
	if m.Extent.Network = "off"; r.Sandbox.online() {
		m.Extent.Network = "on"
	}
	name, err := json.Marshal(r.Sandbox)
	if err != nil {
		name = []byte(r.SandboxMode()) // a value that came from JSON can be encoded
	}
	if m.Name = string(r.Asks()) + " " + string(name); r.Asks() == Never {
		m.Unasked = "approval policy never"
	}
	return m
}

// online reports whether the policy has the network.
func (p SandboxPolicy) online() bool { return p.NetworkAccess == true || p.NetworkAccess == "enabled" }

// WithNetwork returns the policy with all that its type has. Where commands are not
// confined, nothing holds the network back.
func (p SandboxPolicy) WithNetwork(confined bool) map[string]any {
	out := map[string]any{"type": p.Type}
	network := map[string]any{"readOnly": !confined, "workspaceWrite": !confined, "externalSandbox": "enabled"}[p.Type]
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
