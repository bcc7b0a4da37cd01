// Package catalogue lists and searches the sessions of a data directory without
// reading every log. It is a small SQLite database with one row per log. List reads
// again only the logs that have changed since their rows were written. So the catalogue
// needs no maintenance, can be deleted at any time, and is never needed to open a
// session. Many processes can use it at the same time. Read catalogue.go first.
//
//	Open ─► catalogue.db, recreated if it is damaged or old
//	List ─► read the changed logs, update their rows ─► newest first
//
// If the database is unusable, Open returns a [Warning] and a Catalogue that works on
// the logs only, more slowly.
//
// The package is separate so that only commands that list sessions start SQLite.
//
// Other files:
//
//   - entry.go: the row of a session: its title, words, counts; which rows a query matches
//   - request.go: the requests to models and their usage, for settle usage
//   - shelf.go: reads sessions while other processes write them
//   - database.go: opens, creates and recreates the SQLite file; its schema
//
// The title of a session in all lists is decided in entry.go; which sessions a frontend lists, in
// package store (internal/client/store).
package catalogue
