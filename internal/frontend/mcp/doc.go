// Package mcp is the way in for clients of the Model Context Protocol, over
// standard streams and over HTTP: five tools that run turns. It translates to and
// from the official SDK, and owns nothing of a turn: what a client is told is read
// from a session's log.
//
//	stdin ─► frame ─► conn ──► SDK ─► ordered ─► tool ─► session
//	                 ├ a cancelled request is not answered
//	                 └ each request has its place in order: what was asked for
//	                   first is admitted first (C10)
//
//	call:  placed ─► admitted ─► following ─► answered    after the turn's last event
//	                    └► cancelled: the turn is interrupted, and nothing is answered
//
// Where a call asks for approval, the client is asked by elicitation; one that
// has none is not waited for: the policy answers and is named (C16).
package mcp
