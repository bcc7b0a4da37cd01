// Package mcp is the frontend for clients of the Model Context Protocol, over standard
// streams and over HTTP: five tools that run turns. It translates to and from the official
// SDK, and owns no state of a turn: answers come from a session's log. Read tools.go
// first.
//
//	stdin ─► frame ─► conn ──► SDK ─► ordered ─► tool ─► session
//	                 ├ a cancelled request is not answered
//	                 └ each request has its place in order: earlier requests are
//	                   admitted first (C10)
//
//	call:  placed ─► admitted ─► following ─► answered    after the turn's last event
//	                    └► cancelled: the turn is interrupted, and nothing is answered
//
// A call that needs approval asks the client by elicitation. If the client does not
// support elicitation, the policy answers at once, and the ending names it (C16).
package mcp
