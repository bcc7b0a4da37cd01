// Package disk opens the file that a decision was about. Read dir.go first.
//
// A path is resolved once, to a place: its canonical path without links ([Resolve]). The
// decision is about that place, and the place travels with the call as an
// [event.ResolvedPath]. The code that executes the call opens the place ([Locate]) without
// following a link at any component, and then uses descriptors only:
//
//	path ─► Resolve ─► decision (rules, question, log) ─► event.ResolvedPath
//	  └► Locate ─► Place ─► Dir ─► read, create, rename, remove in it
//	        └────────┴────────┴─► ChangedError: the path has another target now
//
// A path whose target has changed since the decision is a [ChangedError]: nothing was read or
// written, and the call needs another decision. ADR 31 has the reasons. Package internal/policy
// decides what is allowed.
//
// [OpenRegular] and [ReadRegular] are for files that a person or a client named and that
// need no decision: regular files only, without blocking, up to a bound.
//
// The package also has the files of settle itself:
//
//   - replace.go replaces a file atomically; [Read] reads a file that another user may have
//     created.
//   - lock.go waits for kernel locks, which end with their process; lock_unix.go takes them.
//   - scratch.go and sweep_unix.go create temporary directories, and remove those of killed
//     processes (C23: only directories of this user and boot, without a lock).
//   - remove.go removes their trees with few open files, in a bounded time.
//   - logfile.go is the program's own log, bounded and rotated.
//   - contents.go stores the contents of files before a tool changed them, by their SHA-256,
//     until the session is deleted.
//
// Other files:
//
//   - resolve.go: follows all links of a path
//   - walk.go: resolves several paths at once
//   - place.go: a decided path, used as it was decided
//   - workdir.go: a session's working directory, held open
//   - enter_unix.go: changes the working directory
//   - entry.go: changes of entries in an open directory
//   - kind.go: refuses what is no regular file
//   - mode.go: permissions as text
//   - identity.go: identifies entries by kind, rights and content
//   - changetime_linux.go, changetime_other.go: when an inode last changed
//   - shorten.go: names that must fit with a suffix
//   - regular.go: reads regular files up to a limit
//   - read.go: reads the beginning of a place
//   - mode_linux.go: changes permissions
//   - mounts_linux.go: which file systems are mounted
//   - open_linux.go: opens directories without following links
//   - owner.go: who can change a file
//   - sync_unix.go: makes a directory durable
//   - contents_intent.go: planned changes of calls
package disk
