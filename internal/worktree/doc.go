// Package worktree makes git worktrees for child agents, and removes those in which
// nothing has changed.
//
//	Plan ─► the log says so ─► Make ─► the child works ─► Leave ─► removed: nothing has changed
//	                                                           └► kept: commits, changes, doubt
//
// While settle is answerable for a worktree, git has it as locked, with a reason that
// names the child's session. By that, and by where it is, settle knows one that it
// has made, also after it was killed (C23). Leave touches no other. One that is kept
// is unlocked, and is the user's from then on.
//
// Git is run without the user's configuration, keys, hooks and filters, and only in a
// repository whose own configuration runs nothing.
package worktree
