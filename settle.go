// Package settle embeds an agent whose every turn ends: with exactly one
// terminal event, an honest cause, and nothing of it still running. Package agent
// makes it a coding agent, in three lines.
//
//	host, err := settle.Open(ctx, settle.Config{})
//	defer host.Close(ctx)
//	session, err := host.Session(ctx, "", settle.SessionConfig{Model: provider.Model("gpt-5.2")}) // open or create
//	turn, err := session.Submit(ctx, "fix the failing test")
//	for e, err := range turn.Events(ctx) { … }     // stopping to read is no interrupt
//	outcome, err := turn.Wait(ctx)                 // err says how it did not complete
//
// A [Host] has many sessions, each with a model, a directory, tools and a policy
// of its own ([SessionConfig]). A [Store] is the sessions that are kept, open or
// not. An [Observer] is told what starts and ends.
//
// The package reads no environment and no files of its own accord, installs no
// signal handler, never exits and has no global state. Without a directory, logs
// are in memory. Without an approver, and unless Permission is Allow, calls that
// could change something are denied, and [Outcome] says so. A program whose agents
// run commands calls [RunAsSupervisor] in the first line of its main.
package settle

import "github.com/settle-agent/settle/internal/session"

// ErrClosed is returned for what comes after Close.
var ErrClosed = session.ErrClosed
