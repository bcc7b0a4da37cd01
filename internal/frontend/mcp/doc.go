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
//
// Other files:
//
//   - frontend.go: options, the tools that are served
//   - run.go: the tools run and reply
//   - status.go: the tools status and sessions
//   - interrupt.go: the tool interrupt
//   - task.go: a turn that a request waits for
//   - progress.go: progress notifications
//   - elicit.go: approvals as forms
//   - client.go: the client and its abilities
//   - calls.go: open requests and their cancellation
//   - order.go: order of requests to a session
//   - idle.go: closes idle sessions
//   - stdio.go: standard input and output
//   - conn.go: limits of lines and calls on stdio
//   - http.go: the endpoint over HTTP, its limits
//   - stream.go: messages kept for HTTP clients
//   - id.go: which ids of requests are accepted
package mcp
