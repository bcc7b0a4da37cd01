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
package execserver
