// Package contents keeps what files contained, by their SHA-256, in a directory of
// its own: what a session's tools are about to replace, so that it can be had again.
//
//	Keep(content) ─► DIR/HASH, synced ─► the change is made ─► Get(hash)
//	     └► the oldest go, where there would be more than the bound
//
// Whole contents are kept, exactly as they were: files that the user may read and
// nobody else may. They are deleted with their session.
package contents
