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
// its event: turn/start before turn/started, turn/interrupt directly before
// turn/completed. The answers to thread/start, thread/resume and thread/unsubscribe are sent
// between two events.
//
// The messages follow "codex app-server generate-json-schema" of Codex 0.169; the tests
// in clients check all messages against it. Read server.go first.
//
// Other files:
//
//   - open.go: opens a thread with a client's settings and rights
//   - threads.go: requests about threads: start, resume, read
//   - turns.go: requests about turns: start, steer, interrupt
//   - live.go: a loaded thread, whose events are followed; when it is closed without a client
//   - disk.go: stored threads
//   - params.go: parameters of requests
//   - approve.go: requests for approval and their answers
//   - inquire.go: the model's questions, and the client's answers
//   - translate.go: events as notifications
//   - item.go: items and their statuses
//   - history.go: turns and items of a stored thread
//   - about.go: initialize, configuration, models
//   - servers.go: states of MCP servers
//   - skills.go: lists of skills, and inputs that name one
//   - errors.go: error codes, statuses of turns
//   - wire.go: messages of the protocol
package appserver
