// Package rewind returns a copy of a session to the state before an input, and restores the
// files that settle's own tools changed since then.
//
//	log ─► Plan ─► Check(files on disk) ─► a person confirms ─► Snapshot ─► Restore
//
// A file is restored only if its content is still the one that settle wrote. Files that
// other programs changed since then are kept and reported. All replaced files are copied
// first, so that [ReadSnapshot] can undo a rewind. Changes by commands and child agents are
// unknown here; the plan lists these calls. The package never touches git's own files.
// Start with plan.go; changes.go collects the changes from the log, restore.go decides
// which files are restored in which order (package tool/file writes and removes each one),
// text.go writes reports.
package rewind
