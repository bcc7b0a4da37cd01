package event

// Sandbox is the kernel confinement of a command.
type Sandbox string

// The sandboxes.
const (
	// NoSandbox gives a command all rights of the user.
	NoSandbox Sandbox = "off"
	// ReadOnly lets a command read only.
	ReadOnly Sandbox = "read-only"
	// Workspace lets a command read, and change files in the working directory.
	Workspace Sandbox = "workspace"
)

// On reports whether the sandbox confines anything; "" is the same as NoSandbox.
func (s Sandbox) On() bool { return s != "" && s != NoSandbox }

// Confinement is the default sandbox of a session's commands, and the mechanisms
// that enforce it (C22).
type Confinement struct {
	Mode    Sandbox `json:"mode"`
	Network string  `json:"network,omitempty"` // off, proxy or on
	// By names the mechanisms that enforce the sandbox here; Tried is the number of
	// sandbox probes that ran before the session began, all of which held.
	By    []string `json:"by,omitempty"`
	Tried int      `json:"tried,omitempty"`
	// Missing is the reason for a weaker sandbox than requested; Gaps are the
	// restrictions of the mode that cannot be enforced here.
	Missing string   `json:"missing,omitempty"`
	Gaps    []string `json:"gaps,omitempty"`
	// Withheld are the secrets that commands without a question do not get; nil if all
	// commands get all secrets of the user.
	Withheld *Withheld `json:"withheld,omitempty"`
}

// Withheld are the secrets that a command does not get if it runs without a question.
type Withheld struct {
	Variables []string  `json:"variables,omitempty"` // names of environment variables
	Files     HideFiles `json:"files"`
}

// HideFiles is the mechanism that keeps files with secrets from such commands.
type HideFiles string

// The mechanisms.
const (
	// FilesHidden means that the kernel refuses to open the files.
	FilesHidden HideFiles = "hidden"
	// FilesAsked means that settle asks before a command that could open the files.
	FilesAsked HideFiles = "asked"
)

// Secrets are the secrets that the processes of a call get; "" is all of the user's.
type Secrets string

// SecretsWithheld means that the call ran without a question, and got neither variables
// nor files with secrets.
const SecretsWithheld Secrets = "withheld"
