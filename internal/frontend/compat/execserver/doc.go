// Package execserver lends this machine's processes and files to an agent that
// speaks the protocol of "codex exec-server": JSON-RPC without a version field,
// one message in a WebSocket frame, or on a line of a standard stream.
//
//	WebSocket, in or out ─┐
//	standard streams ─────┴─► conn: requests in order ─► session ─► process ─► proc (tracking)
//	                            ▲                            │         │
//	                            └── answers, then output ◄───┘     log: bounded, numbered
//
// A session outlives its connection for a time, so that a client can reconnect and
// receive the output from that time. Afterwards the session and its processes end.
//
//	attached ── connection gone ──► detached ── resumed in time ──► attached
//	                                   └─────── not ──► ended: no process is left
//
// The output of a process is in a numbered log of limited size. Entries that the client
// has received (it answered a later ping) can be dropped for new ones; until then the
// process waits, and no output is lost. settle tracks each process (C7): terminate, the
// end of its session and the end of this program end the process and all descendants.
//
// Rights that come with a request are enforced or the request is refused (C22).
//
// Read conn.go first. methods.go decides the meaning of a message, rights.go the permissions of a
// client, session.go and process.go the end of a process.
//
//	websocket.go, stdio.go  carriers of messages; wire.go, place.go: their format
//	conn.go                 requests, answers, output in the order of a connection
//	methods.go, about.go    requests about processes and the machine
//	server.go, session.go   sessions, resumption, retention
//	start.go                the specification of a process; process.go: its life; input.go,
//	                        log.go: its input and output; repositories.go: what it left there
//	rights.go               sandbox rules of a client
//	files.go, tree.go, copy.go, handle.go
//	                        requests about files
package execserver
