// Package catalogue lists and searches the sessions of a data directory
// without reading every log. It is a small SQLite database that says of each
// log what it held when it was last looked at; what it says of a log that has
// changed since is read anew. So nobody has to keep it up to date, it may be
// deleted at any time, and it is needed to open no session. Many processes use
// it at once.
//
//	Open ─► catalogue.db, made anew if it is damaged or old
//	List ─► logs that changed are read and noted ─► newest first
//
// Where the database cannot be used, Open returns a [Warning] as well as a
// Catalogue, which works on the logs alone, and slower.
//
// It is a package of its own so that only who lists sessions pays for SQLite's
// start.
package catalogue
