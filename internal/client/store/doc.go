// Package store is the sessions of a data directory as faces need them beside
// the ones that are open: which one a person means, what clients call it, a copy
// of it, its jobs, and its deletion with all that belongs to it.
//
//	DATA_DIR/sessions/ID.log   the log          journal
//	DATA_DIR/output/ID/        long outputs     agent
//	DATA_DIR/names/ID          its label        here
//	DATA_DIR/archived/ID       that it is put away
package store
