// Package sandbox confines a thread, and what it then starts, by the kernel's
// own means, and says what it cannot do here.
//
// A [Policy] lists what may be read and written; all else is refused:
//
//   - Landlock: files outside of the policy, signals to what is outside, and
//     looking into its memory, environment and descriptors.
//   - seccomp: other ways around it (ptrace, mounts, namespaces, io_uring,
//     keyrings), the network, and what Landlock does not know (chmod, chown,
//     times, extended attributes).
//   - namespaces, where they can be had: a view of the files in which the rest is
//     read-only, a network and processes of the command's own.
//   - no capabilities, and none to be gained by executing something.
//
// [Enter] confines the calling thread only, for good. What holds for a thread
// holds for every process that it starts: so a warden confines one of its
// threads, starts the command on it, and stays free itself.
//
// On macOS, where nothing confines a thread, [Confined] says what to execute instead,
// and [Seatbelt] writes the policy for it. Nobody has run that yet.
//
//	Check ─► nil: Enter enforces all of that here
//	     └─► error: what is missing; nothing may be called confined (C22)
package sandbox
