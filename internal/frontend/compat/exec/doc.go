// Package exec is the frontend for programs that were written for "codex exec": one
// prompt, one turn, and a JSON line for each event. Read view.go first.
//
//	thread.started ─► turn.started ─► items ─► turn.completed | turn.failed
//	                                  item: started ─► updated* ─► completed
//	refused before that ────────────► error, turn.failed
//
// client/oneturn runs the turn, and compat/codex translates Codex's flags. This package
// translates settle's events into Codex's. Codex has no event for an interrupt: an
// interrupted turn has failed, and the message has the reason. The text of a failed
// attempt is shown once, when no later attempt can repeat it.
//
// Other files:
//
//   - item.go: events of items as JSON (view.go decides when they are sent)
//   - resume.go: arguments, and which session continues
//   - sandbox.go: the mode for a sandbox and approval policy
//   - wire.go: lines of the JSON output
package exec
