// Package web is the frontend over HTTP: the API under /api/, and the page. It
// translates between requests and the sessions of a host, and owns no state of a turn:
// answers come from a session's log, and requests go to the session. Read routes.go
// first: it lists the API.
//
//	request ─► path ─► Host ─► rate ─► origin ─► token ─► body ─► route ─► session
//	             └────────┴──────┴───────┴─────────┴───────┴─► problem+json
//
//	events:  connected ─► replaying ─► following ─► closed    the session was closed
//	             └► resync: the cursor is beyond the log         └► gone: the client
//
// A client that reads slowly, or not at all, delays only itself: each write to it has a
// deadline (C17). The end of a connection interrupts no turn.
//
// Other files:
//
//   - server.go: options, limits and start of the server
//   - serve.go: requests until a stop arrives
//   - guard.go: security headers, host names and origins
//   - token.go: refuses requests by token and rate; kinds of clients
//   - decode.go: bodies of requests, and their errors
//   - body.go: the bodies of answers
//   - problem.go: errors as clients get them (RFC 9457)
//   - sessions.go: list, open and snapshot of sessions
//   - openable.go: which sessions this host refuses
//   - keep.go: rename, fork, delete
//   - idle.go: closes sessions that nobody follows
//   - inputs.go: inputs, modes and images
//   - control.go: interrupts, approvals, calls, jobs
//   - settings.go: changes of model, mode and effort
//   - overrides.go: what clients chose, kept for copies and for sessions that are opened again
//   - rewind.go: plans and does a rewind
//   - files.go: files for completion
//   - plugins.go: the user's plugins, read-only
//   - events.go: subscriptions to events
//   - stream.go: slow clients, deadlines, heartbeats
//   - tail.go: the last turns of a long session
//   - archive.go: sessions that other processes run
//   - metrics.go: the route /metrics
//   - openapi.go: the OpenAPI description
//
// The page filters the list that it has (page/assets/sessions.js); full-text search is in package
// catalogue, which the server does not ask yet. Limits and tokens come from package guard.
package web
