// Package conversation opens the sessions of the terminal (package tui). sessions.go
// implements [tui.Sessions]. It returns one of three conversations:
//
//	another process hosts it, and no --take ─► attached.go  an attached client of that process
//	else: terminal.host = "own"             ─► own.go       a host process for this session
//	      terminal.host = "inside"          ─► local.go     this process hosts the session
//
// commands.go lists the user's and the project's own commands. cmd/settle wires all
// of it; which session opens first is decided there.
package conversation
