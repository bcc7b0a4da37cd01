// Package session runs one session: a single actor that starts turns, one after the other, and
// answers the clients that wait for the turns' ends.
//
//	idle ── input ──► running ── turn.* ──► idle ── Close ──► closed
//	                    │ interrupt, replace: cancel, with the cause
//	                    └ input: waits (queue, steer), or replaces the turn (replace)
//
// Read session.go first: it has the actor. input.go accepts inputs and chooses the inputs of the
// next turn, expand.go expands them beside the actor, turns.go starts a turn with the chosen
// inputs, interrupt.go and close.go end it. approvals.go requests approvals, child_approvals.go
// approvals of child agents, forwarding.go asks a program instead of a person, and form.go asks for
// values.
//
// The log has the running turn and the waiting inputs (C3). The actor owns only the state that
// cannot be in the log: the function that cancels the running turn, and the waiting clients.
// Whether a call needs approval is decided in internal/policy (the Judge); who is asked is decided
// here.
//
// Other files:
//
//   - input.go: which inputs are accepted; refuses an image that the model does not take
//   - document.go: reads the text of PDFs
//   - children.go: records of child agents, how many may run, and which ones an aborted turn ends
//   - compact.go: compaction on request
//   - hooks.go: hooks around approvals
//   - held.go: verdicts about held calls; when settle asks again
//   - jobs.go: records of processes
//   - model.go: changes of model and tools
//   - review.go: runs a review, and records its verdict
//   - update.go: writes to the log while the session is open
package session
