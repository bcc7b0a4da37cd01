// Package workspace creates the workspaces of tasks with a git repository, and keeps
// checkpoints of them in Postgres.
//
//	Prepare ─► the session's workspace is there ─► the agent works ─► Checkpoint: a bundle of
//	   │                                                                what follows the base
//	   └─► it is not (another worker, a dead machine):                           │
//	       a new one from the base and the last checkpoint ◄─────────────────────┘
//
// A workspace is a clone of the session's own, on the machine of the agent's executor. It
// has an instance id, which the database also has, so that a replaced workspace is not
// taken for the present one. A checkpoint counts only if its worker has the session's
// fencing epoch.
//
// Scripts (*.sh) for that machine's shell make all changes to a workspace. Git uses the
// user's configuration and credentials only for requests to a server; everything else runs
// without configuration, filters and hooks.
//
// Files:
//
//   - keeper.go: makes workspaces and checkpoints, their sizes
//   - script.go: the scripts that run git
//   - store.go: checkpoints in the database
package workspace
