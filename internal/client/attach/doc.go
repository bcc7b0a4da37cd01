// Package attach is the client of a session that another process of the same user hosts.
// An attached client reads the session's events, and sends, interrupts and answers like
// the host's own frontend. Read session.go for the client and serve.go for the host's side.
//
//	attached client                           host
//	log file ─► journal.Load ─► state         │
//	{"join","follow":seq} ──── socket ───────►│ Session.Events: a line for each event
//	{"join"} ── JSON-RPC ───── socket ───────►│ submit, interrupt, answer, drop, cancel, kill,
//	                                          │ compact, choose a model, tighten the permission
//
// The socket is the host's control socket ([hostsocket.Server]). The state comes from the
// log file, at no cost to the host. Later events come from the host, which also has the
// events that no disk has accepted. If the host has ended, the log file has the remaining
// events, so that a client misses no event that was shown (C4, C17).
//
// Disconnecting ends nothing, a slow reader delays no other reader, and the first answer to a
// question counts (C16). All waits are bounded, because a host can be stopped. The package is a
// client of the public API, so that it stays above the root package; the socket itself is in
// internal/hostsocket.
//
// Other files:
//
//   - owner.go: what only the terminal that started a host can do
//   - wire.go: the messages of the control socket
//   - call.go: calls from the client to the host, their timeouts
//   - handler.go: executes the calls of a client in the host
package attach
