// Package store manages the sessions of a data directory that no frontend has open: it
// resolves names, sets labels, copies, imports, lists jobs, and deletes a session with all
// its files.
//
//	DATA_DIR/sessions/ID.log   the log          journal
//	DATA_DIR/output/ID/        long outputs     agent
//	DATA_DIR/names/ID          its label        here
//	DATA_DIR/archived/ID       that it is archived
//	DATA_DIR/started/ID        the model and server that it was started with   config
//
// Files:
//
//   - list.go: lists sessions
//   - overview.go: the state of each session in a list, in a word
//   - resolve.go: the beginning of an ID to the whole ID
//   - label.go: names of sessions, and which are archived
//   - fork.go: copies of a session, whole or before a turn
//   - import.go: a session from a log or a trajectory, its limits
//   - delete.go: removes a session with all its files
//   - approvals.go: held calls of all sessions
//   - jobs.go: processes that sessions left running, their states
//   - kill.go: ends such a process and waits for its record
//
// Titles, the order of lists and full-text search are decided in package catalogue; package rewind
// finds the session that continues if a user names none (LastSession).
package store
