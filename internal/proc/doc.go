// Package proc starts and tracks every process of settle: no other package starts one. No
// descendant of a command outlives its call unless the caller decides so (C7), even when
// settle itself is killed. Read process.go and spec.go first.
//
// On Linux each command runs under a supervisor: this binary, executed again through
// /proc/self/exe, which [RunAsSupervisor] turns into a supervisor before main does anything
// (supervisor_linux.go; the host's side is supervised_linux.go, their messages are
// protocol_linux.go). The supervisor is the subreaper of the command's descendants, so that
// setsid and double forks lead back to it. It ends them all on request, or when its socket
// closes because the host died (termination_linux.go). Without supervisors, process groups
// (group_unix.go) or job objects on Windows track the processes, and [Tracking] lists the
// weaker guarantees. A sandboxed command with processes of its own has the supervisor as
// the first process of their namespace (namespace_linux.go).
//
//	            exit, no process left
//	         ┌───────────────────────────────────┐
//	running ─┤ exit, others left      last exit  ├→ gone
//	         ├──────────────────→ left ──────────┤
//	         └──── End: TERM, grace, KILL ───────┘
//	left, running ── Release ──→ released (no longer tracked)
//
// [Process.Exited] closes when the command itself has ended (C8: even if another process
// holds its pipes), [Process.Done] when all its processes have.
//
// reaper_linux.go ends the processes of killed supervisors, and unmanaged_linux.go decides
// which orphans belong to settle (C23). identity*.go prove which process has a number.
// probe_*.go test the sandbox of the kernel; internal/sandbox has the tests themselves.
// parent*.go, closed*.go and detached*.go report the end of the process that started
// settle, or of the reader of standard output.
//
// Other files:
//
//   - run.go: short helper programs of settle, bounded
//   - files.go: standard files of a command
//   - pump.go: copies a command's output
//   - host.go: state of the whole process, its children
//   - tracking.go: methods of tracking and what each confines
//   - identity.go: which process has a recorded number
//   - poll.go: checks of the parent without events
//   - parent.go: reports the end of the parent
//   - closed_unix.go: whether a pipe or terminal has no reader
//   - detached_unix.go: whether this process should outlive its parent
//   - standalone_unix.go: starts a process of this program that outlives it
//   - standalone_windows.go: refuses that
//   - wait_unix.go: waits for events of a descriptor
//   - pending_linux.go: unread bytes of a descriptor
//   - block.go: hides arguments and environment from others
//   - confined_other.go: whether process groups confine a command (never)
//   - foreground.go: programs that use the person's terminal
//   - program.go: folders from which settle starts no program
//   - shadow.go: folders of PATH without the programs that commands can change
//   - proxy.go: the egress proxy of a sandboxed command
//   - recorded.go: a command of an earlier host
//   - remote.go: a process on another machine
//   - job_windows.go: Windows job objects
//   - keepawake_linux.go: supervisors that wake a stopped host
//   - log_linux.go: output of a command as a bounded log
//   - other_unix.go: systems without subreapers
//   - pidwatcher_linux.go: waits for the end of a process
//   - probe_linux.go: tests that the sandbox confines
//   - procfs_linux.go: processes, their command lines and descendants by /proc
//   - seclude_linux.go: denies others access to this process
//   - tail.go: the end of a process's standard error
//   - environment.go: which variables helper programs of settle receive
package proc
