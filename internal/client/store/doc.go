// Package store manages the sessions of a data directory that no frontend has open: it
// resolves names, sets labels, copies, imports, lists jobs, and deletes a session with all
// its files.
//
//	DATA_DIR/sessions/ID.log   the log          journal
//	DATA_DIR/output/ID/        long outputs     agent
//	DATA_DIR/names/ID          its label        here
//	DATA_DIR/archived/ID       that it is archived
package store
