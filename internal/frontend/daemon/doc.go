// Package daemon is the frontend of a session that a process of its own hosts. People attach
// to it ([attach.Serve]) and leave again.
//
//	settle run --detach ─► host process ─► Report: the prompt is durable ─► settle run exits
//	                             │
//	                             ├─ turns, attached clients, jobs
//	                             ├─ idle for an hour, without clients ─► ends, and the log says so
//	                             └─ a signal, or the session is closed or taken over ─► ends
//
//	terminal ─► host process ─► Report: the session is open ─► the terminal attaches as its owner
//	                             │
//	                             ├─ the terminal quits, or is gone ─► ends
//	                             └─ /detach ─► as above
//
// Read daemon.go first. owner.go serves the terminal that started the process. cmd/settle starts
// the process and shows the report; ADR 44 says why each session has a process of its own.
package daemon
