// Package attach lets a process take part in a session that another process of
// the same user hosts: it sees what the host sees, and sends, interrupts and
// answers as the host's own client does.
//
//	guest                                     host
//	log file ─► journal.Load ─► state         │
//	{"join","follow":seq} ──── socket ───────►│ Session.Events: a line each
//	{"join"} ── JSON-RPC ───── socket ───────►│ submit, interrupt, answer, drop, cancel, kill
//
// The socket is the host's door in the data directory ([journal.Door]), which only the
// same user and root get through. The state comes from the log file, at no cost for
// the host; what follows it comes from the host, which knows when there is
// something, and has also what no disk has taken. Where the host is gone, the log
// file has the rest: a guest misses nothing that was shown (C4, C17).
//
// A guest is one more client. Leaving ends nothing, reading slowly holds nobody
// up, and the first answer to a question counts (C16). All of its waits are bounded: a
// host may be stopped.
package attach
