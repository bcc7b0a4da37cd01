// Package conversation opens the sessions of the terminal (package tui). sessions.go
// implements [tui.Sessions]. It returns one of two conversations:
//
//	session is free, or --take ─► local.go     this process hosts the session
//	another process hosts it   ─► attached.go  an attached client of that process
//
// commands.go lists the user's and the project's own commands. cmd/settle wires all
// of it; which session opens first is decided there.
package conversation
