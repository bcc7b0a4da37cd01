// Package engine runs the tasks of a fleet on Temporal: one workflow for each session, one
// activity for each turn.
//
//	Submit ─► index (Postgres) ─► outbox ─► signal-with-start ─► workflow settle.session
//	                                                               │ one at a time
//	                                                               ▼
//	             index.Claim (fencing epoch) ◄── activity settle.turn ─► Work.Run
//
// Temporal decides when and where a turn runs: its task queues hold the backlog, its priorities
// and fairness keys order that, its heartbeats find dead workers. Postgres decides what is true:
// which tasks there are and how they ended (package index), and who may write a log (package
// pglog). A signal has the id of a task and never its prompt (C15).
//
// The workflow keeps one task at most: the activity returns which task of the session is next, as
// Postgres knows it. So a signal that is lost, repeated or late changes nothing, and a session
// with 20,000 inputs has a small history.
//
// Files, to read in this order:
//
//   - session.go: the workflow of a session
//   - turn.go: the activity of a turn, and its heartbeats
//   - work.go: the worker, and its drain
//   - slots.go: how many turns a worker runs at a time
//   - engine.go: submitting and cancelling
//   - send.go: the outbox's way to Temporal, and recovery
//   - schedule.go: tasks that Temporal submits again and again
//   - terminated.go: sessions whose workflow was terminated from outside
//   - lost.go: tasks that Temporal was sent and does not have
//   - attributes.go: search attributes
package engine
