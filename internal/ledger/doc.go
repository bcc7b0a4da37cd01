// Package ledger says what a session has come to, from its log alone: no model is
// asked. It stands beside the summary where a history is compacted, and holds what
// summaries lose.
//
//	Read(state) ─► Ledger ─► Check(files on disk) ─► Text(room)
//
// Read takes the facts: what the user said, which files were read and written and
// what they were then, commands with their exit codes, the open plan, child agents, jobs, inputs that wait,
// approvals in force, skills that were loaded and instructions of folders. Check looks which files have changed since. Text says it
// within so many bytes: user inputs are folded before they are left out, and what
// is left out is counted.
package ledger
