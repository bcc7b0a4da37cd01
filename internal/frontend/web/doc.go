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
package web
