// Package index is what Postgres knows of the tasks: a row for each, which says what it is
// asked to do, where it is, who ran it, and how it ended. The package owns the
// tables unit, tenant and schedule.
//
//	Accept ─► queued ─► Claim ─► running ─► End ─► ended
//	  │          ▲                  │
//	  │          ├── End without a result, or the next Claim after a worker's death
//	  │          └── Answer ◄── held ◄── End of a turn with a call that waits for a person
//	  └─► outbox ─► TakeDue ─► Temporal has it ─► MarkSent
//
// The index decides what is true: whether a task was accepted, which task of a session is the
// first, who may write its log (the fencing epoch), and how it ended. It does not decide
// when a task runs, or where: that is Temporal's part (package engine).
//
// Files, to read in this order:
//
//   - claim.go: fencing epochs, results, and the next task of a session
//   - index.go: accepting and cancelling tasks
//   - outbox.go: tasks that Temporal does not know yet
//   - held.go: tasks that wait for a person, and verdicts
//   - list.go: lists and counts
//   - tenant.go: weights of tenants
//   - schedule.go: tasks that are submitted again and again
package index
