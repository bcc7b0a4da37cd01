// Package daemon is the frontend of a session that nobody is at: a process of its own hosts
// the session, and people attach to it ([attach.Serve]) and leave again.
//
//	settle run --detach ─► host process ─► Report: the prompt is durable ─► settle run exits
//	                             │
//	                             ├─ turns, attached clients, jobs
//	                             ├─ idle for an hour, without clients ─► ends, and the log says so
//	                             └─ a signal, or the session is closed or taken over ─► ends
//
// Read daemon.go first. cmd/settle starts the process and shows the report; ADR 44 says why
// each session has a process of its own.
package daemon
