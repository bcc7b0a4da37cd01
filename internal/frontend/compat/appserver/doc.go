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
// A thread is a session, and its id the session's. The translator folds the
// session's events to notifications; it alone says what is going on. Answers
// that must stand in order with notifications are given where the event that
// they are about is reached: turn/start before turn/started, turn/interrupt
// before the items end that it cut. Those to thread/start, thread/resume and
// thread/unsubscribe are given between two events.
//
// The messages are those that "codex app-server generate-json-schema" of Codex
// 0.169 describes; the tests in clients hold all that is said against it.
package appserver
