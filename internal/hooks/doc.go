// Package hooks runs the commands that a user, or a project that the user trusts, has
// configured for events of a session, in the form of Claude Code and Codex: JSON on standard
// input, an exit code and JSON as the answer.
//
//	occasion ─► matching hooks ─► started (log) ─► supervised command ─► ended (log)
//	                                                                          │
//	       Verdict: allow, ask, deny, other arguments, context, stop ◄────────┘
//
// Matching hooks run in parallel. A blocking hook (of a prompt, a call or an approval) that
// cannot start, crashes, runs too long, prints too much or prints an invalid answer denies.
// The log records the failure of any other hook, and the session continues.
//
// Read set.go first: it has the configured hooks. occasion.go has what a hook receives,
// names.go and arguments.go the names and arguments that hooks know for settle's tools, run.go one run and
// its record, answer.go a hook's answer, verdict.go the combined answers, blocking.go the
// rounds in which every blocking hook sees the final call, and process.go the command.
//
// This package decides what the hooks answer; internal/turn and internal/session decide when
// hooks run and what their verdict changes.
//
// Other files:
//
//   - observe.go: hooks that observe: start, end, stop, notify
package hooks
