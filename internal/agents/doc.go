// Package agents runs the child agents of a session, ends those whose host died, and
// makes git worktrees.
//
//	task tool ─► Spawner.Spawn ─► child.started ─► open ─► turns ─► child.ended
//	host died ─► Orphans.End, with what the child's own log says ─► child.ended
//
// Read spawner.go first. child.go runs one child, status.go describes it for the
// check_task tool, orphans.go completes the endings that recovery writes. Package
// settle decides how a child's session is configured and who approves its calls;
// internal/session decides when children are cancelled and how many may run.
//
// A worktree (worktree.go, worktree_leave.go, git_command.go) has these states:
//
//	Plan ─► child.started ─► Make ─► the child works ─► Leave ─► removed: nothing changed
//	                                                         └► kept: commits, changes, errors
//
// While settle owns a worktree, the worktree is locked in git, and the lock's reason
// names the child's session. By this lock and the path, settle recognizes its own
// worktrees, also after settle was killed (C23); Leave changes no other worktree. A
// worktree that is kept is unlocked and belongs to the user.
//
// session_tree.go does the same for a session that a person starts in a worktree, opens the
// worktree of a session that continues, and lists the worktrees that are left after a kill.
// worktree_forsaken.go leaves the worktrees of sessions that have no log.
//
// Git runs without the user's configuration, keys, hooks and filters, and only in a
// repository whose own configuration runs nothing.
package agents
