// Package hooks runs the commands that a user, or a project that the user trusts,
// has configured for occasions in a session, in the form of Claude Code and Codex:
// JSON on standard input, an exit code and JSON as the answer.
//
//	occasion ─► hooks that match ─► started (log) ─► command, in custody ─► ended (log)
//	                                                                          │
//	          Verdict: allow, ask, deny, other arguments, context, stop ◄─────┘
//
// Hooks that match run at the same time. A gate (a prompt, a call, a permission)
// that cannot start, crashes, takes too long, floods or says what nobody understands,
// denies. Any other hook that fails is recorded, and holds nothing up.
//
// set.go has what is configured, occasion.go what a hook is told, names.go and
// arguments.go the names that other agents have for our tools, run.go one run and its
// record, answer.go what it said, verdict.go what all of them said, gate.go the rounds
// in which every gate sees the call that runs, process.go the command.
package hooks
