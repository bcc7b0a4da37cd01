// Package pglog keeps the logs of sessions in Postgres, as [settle.Logs]. It owns
// the tables session and batch, their schema, and the order in which appends of
// many sessions become true:
//
//	Append ─► queue ─► committer ─► one transaction: epoch checked, batches stored, readers notified
//	Append ─►  (lazy | durable)      └─► a writer with an old epoch: [FencedError]
//
// A session has a fencing epoch. A process that opens its log for writing takes a greater
// epoch, and every append checks it, so that a writer that was stopped while another one
// took over cannot write any more. An append stores its events as one batch, a row
// of JSON lines, never a row for each event.
//
// Readers ([Logs.Follow]) listen for notifications and read from their cursor;
// their events have no gap, even after a lost connection.
//
// Batches are in partitions by the day on which their session began, so that
// retention drops whole tables ([Logs.Prune]).
//
// Files:
//
//   - logs.go: the logs in a database, their partitions
//   - commit.go: groups of appends in a transaction
//   - states.go: states of sessions that a process keeps between their turns
//   - follow.go: readers of a growing log
//   - schema.go: tables and migrations
//   - prune.go: deletes old sessions
//   - url.go: addresses and settings of a connection
package pglog
