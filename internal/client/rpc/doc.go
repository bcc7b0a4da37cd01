// Package rpc is shared by the frontends that serve one client over JSON-RPC at standard
// streams. It owns the connection, the order of requests, the background work and the
// shutdown. Start with server.go; method.go declares methods, registry.go holds open
// sessions.
//
//	client ──► Handler of the frontend ──► Dispatch ──► a lane for each session, in order
//	                                                    │ Method: answers, or returns an error
//	stop, end of input, no reader ─► stdio.Shutdown ─► lanes and background work end ─► connection
//
// Messages that need their order among all messages, such as a cancel, are served in the
// frontend's Handler, before Dispatch. A lane can wait for a session. It must not wait for
// a slow client; background work (Go) does.
//
// Other files:
//
//   - ask.go: a question that the client has as a request
package rpc
