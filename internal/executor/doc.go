// Package executor runs commands and file operations on a machine for an agent: tools work
// only through [Executor]. [Local] is this machine (local.go), [Remote] another one
// (remote.go) over a stream that [CommandDialer] opens. Read executor.go first.
//
// One call is one round trip. A command is one [Command]: the executor's machine decides
// about its shell, environment and sandbox (local.go, sandboxed.go). A file operation is
// one [Request], since reading, comparing and replacing belong together and near the disk.
//
//	host: Remote ─► link ═══ stream ═══ link ◄─ Server: Local      one per session
//	       reconnect.go    handshake.go    serve.go, command.go
//
// message_link.go delivers each message exactly once over changing streams, in the format
// of frame.go and message.go; spool.go keeps output that waits. serve.go
// sets the bounds: the lease, and how much output waits. [Listener] (listener.go)
// finds the executor of a session by its socket, and takeover.go moves its commands to the
// next host. The lease is decided here (serve.go); whether a call runs at all is decided in
// internal/policy and internal/turn.
package executor
