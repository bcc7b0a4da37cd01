// Package disk opens the file that a decision was made about.
//
// A path is resolved once, to a place: its canonical path, in which nothing is a link
// ([Resolve]). The decision is about that place, and the place travels with the call
// as an [event.ResolvedPath]. Whoever carries the call out opens the place ([Locate]) without
// following a link at any component, and from then on uses descriptors only:
//
//	path ─► Resolve ─► decision (rules, question, log) ─► event.ResolvedPath
//	  └► Locate ─► Place ─► Dir ─► read, create, rename, remove in it
//	        └────────┴────────┴─► ChangedError: the path leads elsewhere now
//
// A path that leads elsewhere than it did for the decision is a [ChangedError]: then
// nothing was read or written, and the call has to be decided again. ADR 31 has the
// reasons. Begin with dir.go.
//
// [OpenRegular] and [ReadRegular] are for a file that a person or a client named, and
// about which nothing has to be decided: only a regular file, without waiting, and no
// more than a bound.
// The package also owns what settle keeps in files of its own:
//
//   - replace.go and untrusted.go replace a file in one step, and read a file that
//     somebody else may have put there.
//   - lock_unix.go takes locks of the kernel, which end with their process.
//   - scratch.go makes directories for temporary files, and removes those of processes
//     that were killed (C23: only directories of this user, of this boot, without a lock).
//   - logfile.go is the program's own log, bounded and rotated.
//   - contents.go keeps what files contained before a tool changed them, by their
//     SHA-256, until the session is deleted.
package disk
