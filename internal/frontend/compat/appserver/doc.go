// Package appserver speaks the protocol of Codex's app-server (version 2) over
// standard input and output: what codex-acp and other clients of that program
// need to drive settle instead.
//
//	client ──► rpc ──► Server: a lane for each thread, in order
//	                               │ thread/start, turn/start, turn/interrupt …
//	                               ▼
//	                            settle.Session
//	                               │ events, in order
//	                               ▼
//	client ◄── answers and notifications ◄── thread ◄── translator (pure)
//
// A thread is a session with the session's id. Only the translator turns the session's
// events into notifications. An answer with a place among the notifications is sent at
// its event: turn/start before turn/started, turn/interrupt before the ends of the items
// that it cut. The answers to thread/start, thread/resume and thread/unsubscribe are sent
// between two events.
//
// The messages follow "codex app-server generate-json-schema" of Codex 0.169; the tests
// in clients check all messages against it. Read server.go first.
package appserver
