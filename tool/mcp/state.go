package mcp

// State is how a server of a session does.
type State string

// The states.
const (
	// Starting: it was told to, and has not answered yet.
	Starting State = "starting"
	// Ready: it can be called.
	Ready State = "ready"
	// Failed: its start did, or its connection.
	Failed State = "failed"
	// NeedsLogin: a person has to log in to it first.
	NeedsLogin State = "needs-login"
	// Disabled: nobody wants it for now.
	Disabled State = "disabled"
)
