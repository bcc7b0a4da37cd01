// Package execserver lends this machine's processes and files to an agent that
// speaks the protocol of "codex exec-server": JSON-RPC without a version field,
// one message in a WebSocket frame, or on a line of a standard stream.
//
//	WebSocket, in or out ─┐
//	standard streams ─────┴─► conn: requests in order ─► session ─► process ─► proc (custody)
//	                            ▲                            │         │
//	                            └── answers, then output ◄───┘     log: bounded, numbered
//
// A session outlives its connection for a while, so that a client which lost one
// can come back for what its processes put out meanwhile; then everything ends.
//
//	attached ── connection gone ──► detached ── resumed in time ──► attached
//	                                   └─────── not ──► ended: no process is left
//
// The output of a process stands in a log of limited size, by number. What the
// client has received (it answered a ping that was sent afterwards) may make way
// for more; until then the process waits, and nothing is lost. Each process is in
// custody (C7): terminate, the end of its session and the end of this program end
// whatever it has started.
//
// Rights that come with a request are enforced or the request is refused (C22).
package execserver
