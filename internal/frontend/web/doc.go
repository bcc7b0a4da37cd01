// Package web is the way in over HTTP: the API under /api/, and the page. It
// translates between requests and the sessions of a host, and owns nothing of a
// turn: what a client is told is read from a session's log, and what it asks
// for is asked of the session.
//
//	request ─► path ─► Host ─► rate ─► origin ─► token ─► body ─► route ─► session
//	             └────────┴──────┴───────┴─────────┴───────┴─► problem+json
//
//	events:  connected ─► replaying ─► following ─► closed    the session was closed
//	             └► resync: the cursor is beyond the log         └► gone: the client
//
// A client that reads slowly, or not at all, holds up nobody but itself: each
// write to it has a deadline (C17). A client that goes away interrupts nothing.
package web
