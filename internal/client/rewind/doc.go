// Package rewind returns a copy of a session to the state before an input, and restores the
// files that settle's own tools and commands changed since then.
//
//	log ─► Plan ─► Check(files on disk) ─► a person confirms ─► Snapshot ─► Restore
//
// A file is restored only if its content is still the one that settle wrote. Files that
// other programs changed since then are kept and reported. All replaced files are copied
// first, so that [ReadSnapshot] can undo a rewind. Changes by child agents, and those that
// package internal/disk/changes could not record, are unknown here; the plan lists these calls.
// It also lists calls that ran in another directory than the session's last host.
// The package never touches git's own files.
// Start with plan.go; changes.go collects the changes from the log, restore.go copies and
// restores them, last.go finds the rewind to undo, session.go the session to
// continue, file.go decides in which order, and which
// package writes and removes a file: internal/disk/changes where a command changed it, else
// tool/file. onlycopy.go keeps created files that may have the only copy of a content, and
// occupied.go keeps directories in which something remains. text.go writes reports.
package rewind
