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
// sets the lease, and how much output waits for one host; command.go what a command keeps of its
// output for a report or the next host. [Listener] (listener.go)
// finds the executor of a session by its socket, and takeover.go moves its commands to the
// next host. The lease is decided here (serve.go); whether a call runs at all is decided in
// internal/policy and internal/turn.
//
// Other files:
//
//   - close.go: ends all commands there and the connection
//   - remote_process.go: a command on another machine, its input
//   - install.go: copies settle to a machine without it
//   - command_dialer.go: a command such as ssh as the stream
//   - session_socket_unix.go: the socket by which a session finds its executor
//   - await_port.go: waits until a process accepts connections
//   - denied.go: finds in output what the sandbox denied
//   - exclusion.go: keeps sandboxed commands apart from git outside of the sandbox
//   - guard.go: protects files of a repository while commands run
//   - shell.go: which shell runs commands
//
// How long an executor waits for its host to return is ordered by the host when it attaches
// (remote.go), a third of the lease; serve.go only obeys. Package config has the setting.
package executor
