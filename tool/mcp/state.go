package mcp

// State is the state of a server in a session.
type State string

// The states.
const (
	// Starting: settle started it, and it has not answered yet.
	Starting State = "starting"
	// Ready: it accepts calls.
	Ready State = "ready"
	// Failed: its start or its connection failed.
	Failed State = "failed"
	// NeedsLogin: a person must log in first.
	NeedsLogin State = "needs-login"
	// Disabled: a client disabled it.
	Disabled State = "disabled"
)
