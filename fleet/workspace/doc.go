// Package workspace makes what tasks with a git repository work in, and keeps
// checkpoints of it in Postgres.
//
//	Prepare ─► the session's workspace is there ─► the agent works ─► Checkpoint: a bundle of
//	   │                                                                what follows the base
//	   └─► it is not (another worker, a dead machine):                           │
//	       a new one from the base and the last checkpoint ◄─────────────────────┘
//
// A workspace is a clone that is the session's own, on the machine that the agent's
// hands are on. It has an instance, which the database names as well, so that one
// that another has replaced is not taken for the present one. A checkpoint counts
// only if its worker has the session's epoch.
//
// All that is done to a workspace is done by scripts (*.sh) for that machine's shell.
// Git asks a server with the user's configuration and credentials; all else it does
// without anybody's configuration, filters and hooks.
package workspace
