package codex

import (
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
)

// Sandbox is one of Codex's sandbox modes. On machines that can confine commands, the kernel
// enforces it; on others, settle judges each call before it runs, by its text.
type Sandbox string

// The sandbox modes.
const (
	ReadOnly       Sandbox = "read-only"
	WorkspaceWrite Sandbox = "workspace-write"
	FullAccess     Sandbox = "danger-full-access"
)

// Approval is one of Codex's approval policies.
type Approval string

// The approval policies.
const (
	Never     Approval = "never"
	OnRequest Approval = "on-request"
	Untrusted Approval = "untrusted"
)

// Folders are the folders, besides the working directory, that commands can write.
type Folders struct {
	Added     []string // by the client, absolute
	Temporary []string // of every client, for temporary files
}

// Mode returns the permission mode for a sandbox mode and an approval policy. by names the
// source of the mode. The caller names the mode, and decides about calls that need an
// approval.
//
//	                     never                       on-request      untrusted
//	read-only            harmless                    harmless        harmless
//	workspace-write      also files within, and all  also files      harmless
//	                     commands and reading        within
//	danger-full-access   all                         all             harmless
//
// In a sandbox, all commands run without a question; the table is for systems without a
// sandbox. Harmless calls read within the working directory, as everywhere in settle.
// Codex itself lets read-only commands read the whole disk, with every key on it that is
// not named like one.
func Mode(s Sandbox, a Approval, writable Folders, by string) assemble.Mode {
	m := assemble.Mode{Permission: event.Ask, Sandbox: map[Sandbox]event.Sandbox{
		ReadOnly: event.ReadOnly, WorkspaceWrite: event.Workspace, FullAccess: event.NoSandbox,
	}[s]}
	if a == Untrusted { // all calls need an approval, and an approved call is unrestricted
		m.Sandbox = event.NoSandbox
	}
	if s == WorkspaceWrite {
		m.Extent.Write, m.Extent.Temporary = slices.Clone(writable.Added), slices.Clone(writable.Temporary)
	}
	switch {
	case a == Untrusted || s == ReadOnly:
	case s == FullAccess:
		m.Permission = event.Allow
	case s == WorkspaceWrite:
		m.Rules = []config.Rule{assemble.Allow("edit", "", by)} // within the working directory
		for _, dir := range slices.Concat(writable.Added, writable.Temporary) {
			m.Rules = append(m.Rules, assemble.Allow("edit", assemble.Below(dir), by))
		}
		if a == Never {
			m.Rules = append(
				m.Rules, assemble.Allow("shell", "", by), assemble.Allow("job", "", by),
				assemble.Allow("read", "/**", by),
			)
		}
	}
	return m
}
