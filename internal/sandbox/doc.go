// Package sandbox confines a thread, and the processes that it starts, with mechanisms of
// the kernel. Read policy.go first, then enter_linux.go. A [Policy] lists the paths that
// may be read and written; everything else is refused:
//
//   - Landlock: files outside of the policy, signals to outside processes, and access to
//     their memory, environment and descriptors.
//   - seccomp: ways around Landlock (ptrace, mounts, namespaces, io_uring, keyrings), the
//     network, and operations that Landlock does not cover (chmod, chown, times, extended
//     attributes). See filter_linux.go.
//   - namespaces, where they are available: mounts in which other files are read-only
//     (view_linux.go, hide_linux.go), a network and processes of the command's own.
//   - no capabilities, and no way to gain them by executing a program.
//
// [Enter] confines only the calling thread, for good. The confinement is inherited by the
// processes of the thread: a supervisor therefore confines one of its threads, starts the
// command on it, and stays unconfined itself. On macOS, [Confined] returns a command that
// confines itself, and [Seatbelt] writes its profile; nobody has run that on a Mac yet.
//
//	Check ─► nil: Enter enforces all of that on this machine
//	     └─► error: the missing requirement; no command may be called sandboxed (C22)
//
// A probe (probe*.go) tests from the inside that the kernel enforces a policy. The folders
// of tools and their caches that each command may read are listed in policy.go. Which
// command gets which policy is decided in internal/assemble, which adds the working
// directory and the configured paths; internal/proc starts the command.
//
// Other files:
//
//   - network_linux.go: a network of the command's own
//   - connect_unix.go: connects to the egress proxy from inside
//   - probe.go: what a probe tries
//   - probe_sh.go: probes with a shell, and their output
//   - sandbox_other.go: systems without a sandbox
//   - seatbelt.go: the profile of macOS
//   - stable.go: drops paths that an earlier command could redirect
//
// System calls that no command makes are decided in filter_linux.go, for all modes; package
// policy decides which mode a call has.
package sandbox
