// Package changes records which files of a directory changed while a call ran, with their
// earlier contents, so that a rewind can restore them.
//
//	Begin ─► walk ─► copy what is not yet copied ─► the call runs ─► End ─► walk ─► Record
//	  │                      │                          └─ interrupted: Leave ─► intent
//	  └─ log of the base ◄───┴─ settle is killed: Recover ─► intent
//
// A [Recorder] belongs to one session. It keeps the last state of the tree, the base: names,
// data of stat(2), hashes, and copies of the contents in one file. A walk reads only files whose
// data of stat differ from the base. After a call, the earlier contents of changed files go to
// the session's [disk.ContentStore]; the base is deleted with the end of the session.
//
// [Limits] bound the walk and the copies. The walk follows no link and does not enter git's own
// directories, directories that .gitignore excludes, generated directories such as
// node_modules, other file systems, and the data directory of settle.
//
// A call that was interrupted, or whose host was killed, has no result that could name its
// changes. Its record becomes an intent of the content store ([disk.ContentStore.Intend]), as
// for interrupted edits.
//
// Read recorder.go first. walk.go walks, tree.go compares, base.go has the files of the base,
// base_log.go its log; recover.go records the calls of a killed host; version.go has the types of
// records, path.go decides which paths a rewind can touch, restore.go restores one path. ADR 49
// has the reasons and figures.
//
// Other files:
//
//   - copy.go: reads and copies files of a walk
//   - stat_linux.go, stat_darwin.go: what identifies a version of a file
//   - stat_other.go: the same on systems without ctime
package changes
