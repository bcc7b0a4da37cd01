// Package settle embeds an agent whose every turn ends: with exactly one terminal event, an
// honest cause, and no process left running. Package agent makes it a coding agent, in three
// lines.
//
//	host, err := settle.Open(ctx, settle.Config{})
//	defer host.Close(ctx)
//	session, err := host.Session(ctx, "", settle.SessionConfig{Model: provider.Model("gpt-5.2")}) // open or create
//	turn, err := session.Submit(ctx, "fix the failing test")
//	for e, err := range turn.Events(ctx) { … }     // breaking off does not interrupt the turn
//	outcome, err := turn.Wait(ctx)                 // err is the cause unless the turn completed
//
// A [Host] has many sessions, each with its own model, directory, tools and policy
// ([SessionConfig]). A [Store] lists the kept sessions, open or not. An [Observer] is called
// when turns, attempts and calls start and end.
//
// The package reads no environment and no files by itself, installs no signal handler, never
// exits and has no global state. Without a directory, logs are in memory. Without an approver,
// and unless Permission is Allow, calls that could change something are denied, and [Outcome]
// lists them. A program whose agents run commands calls [RunAsSupervisor] in the first line of
// its main.
//
// Read host.go and session.go first. registry.go has the open sessions of a host, open.go the
// opening of one, permission.go the approvals, tasks.go the settings of child agents.
//
// Other files:
//
//   - config.go: the options of hosts and sessions
//   - input.go: inputs and their options, images
//   - turn.go: a turn, its outcome and denials
//   - compact.go: compaction as an option and a call
//   - hooks.go: hooks of sessions
//   - toolbox.go: what the tools of a session receive
//   - logs.go: logs outside of files
//   - store.go: kept sessions
//   - release.go: other processes that attach to a session
//   - processes.go: process tracking in main
//   - errors.go: errors that callers can distinguish
package settle

import "github.com/settle-agent/settle/internal/session"

// ErrClosed is returned by calls after Close.
var ErrClosed = session.ErrClosed
