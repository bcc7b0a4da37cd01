// Package proc has custody of every process that settle starts: nothing else
// in the tree starts one. It promises that no descendant outlives its call
// unless somebody decided so (C7), not even when settle itself is killed.
//
// On Linux each command runs under a warden: this binary, executed anew
// through /proc/self/exe and caught by [RunAsSupervisor] before main does anything.
// The warden is the subreaper of the command's descendants, so that setsid and
// double forks lead back to it, and it ends them all when it is asked to, or
// when its socket closes because the host died. Where there is no warden,
// process groups (job objects on Windows) do what they can, and [Custody] says
// what is weaker. A sandboxed command with processes of its own has the warden as
// the first process of their namespace (namespace_linux.go).
//
//	            exit, nobody left
//	         ┌──────────────────────────────────┐
//	running ─┤ exit, others left     last exit  ├→ gone
//	         ├─────────────────→ left ──────────┤
//	         └──── End: TERM, grace, KILL ──────┘
//	left, running ── Release ──→ released (not ours any more)
//
// [Process.Exited] closes when the command itself is gone (C8: whoever else
// holds its pipes), [Process.Done] when everything is.
//
// parent_linux.go, closed_unix.go and detached_unix.go notice that the process which
// started settle has ended, or that nobody reads standard output any more.
package proc
