// Package pglog keeps the logs of sessions in Postgres, as [settle.Logs]. It owns
// the tables session and batch, their schema, and the order in which appends of
// many sessions become true:
//
//	Append ─► queue ─► committer ─► one transaction: epoch checked, batches stored, readers notified
//	Append ─►  (lazy | durable)      └─► a writer with an old epoch: [FencedError]
//
// A session has an epoch. Whoever opens its log for writing takes a greater one,
// and every append checks it, so that a writer that was stopped while another
// took over can write nothing more. An append stores its events as one sealed
// batch, a row of JSON lines, never a row for each event.
//
// Readers ([Logs.Follow]) listen for notifications and read from their cursor;
// what they get has no gap, also after the connection was lost.
//
// Batches are in partitions by the day on which their session began, so that
// retention drops whole tables ([Logs.Prune]).
package pglog
