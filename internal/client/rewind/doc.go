// Package rewind goes back to before an input of a session: in a copy of the
// session, and with the files that settle's own tools changed since as they were.
//
//	log ─► Plan ─► Check(files on disk) ─► a person says yes ─► Snapshot ─► Restore
//
// A file is restored only if it is still what settle left: what somebody else
// changed since is kept, and told. What is there is copied before anything is
// replaced, so that a rewind can be undone the same way ([ReadSnapshot]). What
// commands and child agents did to files is not known here; they are listed.
// Nothing of git's is touched.
package rewind
